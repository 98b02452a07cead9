import { plainText } from "@durable-mcp/core/internal";
import { Command, CommanderError, type OutputConfiguration } from "commander";
import { addHeader } from "./credentials.ts";
import { readArguments, readPort, seconds, variables } from "./option-values.ts";
import { CommandFailure } from "./output/command-failure.ts";
import { addRowFilter } from "./store/choose-rows.ts";
import { addServerOptions } from "./store/server-access.ts";
import { addStoreOptions } from "./store/store-options.ts";
import { addStudio } from "./studio/studio-command.ts";

const exitCodes = `
Exit codes: 0 done; 1 a finding or a failure, named on stderr; 2 wrong usage.`;

/**
 * Runs one command line.
 *
 * @param argv the arguments after the name of the program
 * @param options.output where the text goes @default stdout and stderr of this process
 * @returns the exit code: 0 done, 1 a finding or a named failure, 2 wrong usage
 */
export async function runProgram(
  argv: readonly string[],
  options: { readonly version: string; readonly output?: OutputConfiguration },
): Promise<number> {
  const output = {
    writeOut: (text: string) => void process.stdout.write(text),
    writeErr: (text: string) => void process.stderr.write(text),
    ...options.output,
  };
  const program = new Command("durable-mcp")
    .description("Looks at MCP servers, and at what durable-mcp keeps of their sessions.")
    .version(options.version)
    // Servers, stores and logs must not write over the terminal.
    .configureOutput({
      ...output,
      writeOut: (text) => output.writeOut(plainText(text)),
      writeErr: (text) => output.writeErr(plainText(text)),
    })
    .showHelpAfterError("(add --help for what can be said here)")
    .addHelpText("after", exitCodes)
    .exitOverride();
  addGateway(program);
  addDoctor(program);
  addProbe(program);
  addSessions(program);
  addWaiting(program);
  addTimeline(program);
  addStudio(program);
  try {
    await program.parseAsync(argv, { from: "user" });
    return 0;
  } catch (error) {
    // The parser has written its own message.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    const text = error instanceof Error ? error.message : String(error);
    program.configureOutput().writeErr?.(`durable-mcp: ${text}\n`);
    return error instanceof CommandFailure ? error.exitCode : 1;
  }
}

// Each command loads its own code, so that help and the others do without it.

const gatewayHelp = `
Examples:
  durable-mcp gateway mcp.json
  durable-mcp gateway mcp.json --variable GITHUB_TOKEN --store postgres://…
  durable-mcp gateway mcp.json --start --shared github
  durable-mcp gateway mcp.json --host 0.0.0.0 --allow-host mcp.example --token-env GATEWAY_TOKEN

Each server of the file is at /mcp/<its name>, and at /mcp/<its name>@<a name of yours> a session that the clients of that
address share. A program has a process for each session, or with --shared one for all. Without --store the sessions are in a file of your own.
It ends with SIGINT or SIGTERM, when its calls are over.`;

function addGateway(program: Command): void {
  program
    .command("gateway")
    .description("Stand before MCP servers, so that any client keeps its session.")
    .argument("<mcp.json>", "an mcpServers file, whose servers are served")
    .option("--store <address>", "file:PATH, postgres://…, redis://… or libsql://…")
    .option("--port <number>", "where it listens; 0 for any", readPort, 3_388)
    .option("--host <address>", "the address it listens at", "127.0.0.1")
    .option("--allow-host <name>", "a name it is reached under, beside this machine's own", hosts)
    .option("--token", "only with a token, which is made and printed in the addresses")
    .option("--token-env <VARIABLE>", "only with the token in this variable")
    .option("--variable <NAME>", "fill this variable into the file", variables("--variable"))
    .option("--start", "start the programs of the file, each on first use")
    .option("--shared <name>", "one process of this program for all sessions", hosts)
    .addHelpText("after", gatewayHelp)
    .action(async (path: string, options, command: Command) =>
      (await import("./gateway/run-gateway.ts")).runGateway(path, options, command),
    );
}

const hosts = (name: string, before: readonly string[] = []) => [...before, name];

const doctorHelp = `
Examples:
  DURABLE_MCP_STORE=postgres://… durable-mcp doctor --key-env STORE_KEY
  durable-mcp doctor --mcp-json mcp.json --connections ./connections.ts

The module is loaded, so its code runs. Of the file nothing is filled in or started but what you allow.
Exit codes: 0 nothing failed; 1 a check failed; 2 wrong usage.`;

function addDoctor(program: Command): void {
  addStoreOptions(program.command("doctor"))
    .description("Check what an application needs: Node, its store and keys, its MCP servers.")
    .option("--redirect-url <url>", "the redirectUrl of createOAuth")
    .option("--mcp-json <path>", "an mcpServers file; each of its servers is asked")
    .option("--variable <NAME>", "fill this variable into the file", variables("--variable"))
    .option("--start", "start the programs of the file")
    .option("--connections <path>", "a module that exports connections; they are asked, too")
    .addOption(seconds("--timeout <seconds>", "for each request to a server", 10))
    .addHelpText("after", doctorHelp)
    .action(async (options, command: Command) =>
      (await import("./doctor/run-doctor.ts")).runDoctor(options, command),
    );
}

const probeHelp = `
Examples:
  durable-mcp probe https://mcp.example/mcp
  durable-mcp probe http://localhost:8931/mcp --call browser_tabs --args '{"action":"list"}'
  durable-mcp probe -- npx -y @modelcontextprotocol/server-memory
  durable-mcp probe .cursor/mcp.json --variable GITHUB_TOKEN --start
  DURABLE_MCP_BEARER=… durable-mcp probe https://mcp.example/mcp
  durable-mcp probe https://mcp.example/mcp --header-env x-api-key=EXAMPLE_KEY

A file gets the variables that --variable names, and its programs start with --start; at a terminal you are asked.
No tool is called unless --call names one. The probe ends each session that it makes.
Exit codes: 0 durable-mcp can use it; 1 it cannot yet, or a check failed; 2 wrong usage.`;

function addProbe(program: Command): void {
  program
    .command("probe")
    .description("Ask an MCP server what it is, and what durable-mcp will do with it.")
    .argument("[target...]", "a URL, an mcp.json, or after -- a command and its arguments")
    .option("--mcp-json <path>", "probe each server of a file, whatever its name")
    .option("--variable <NAME>", "fill this variable into the file", variables("--variable"))
    .option("--start", "start the programs of the file")
    .option("--json", "print one JSON document")
    .option("--call <name>", "call this tool: once alone, and once while a stream is open")
    .option("--args <json>", "the arguments of the call, a JSON object", readArguments)
    .option("--header-env <name=VARIABLE>", "send a header with the value of a variable", addHeader)
    .option("--env <VARIABLE>", "hand a variable on to the command", variables("--env"))
    .addOption(seconds("--timeout <seconds>", "for each request", 10))
    .addOption(seconds("--call-timeout <seconds>", "for the call", 60))
    .addOption(seconds("--watch <seconds>", "watch a session after its stream has closed", 10))
    .addHelpText("after", probeHelp)
    .action(async (target: string[], options, command: Command) =>
      (await import("./probe/run-probe.ts")).runProbe(command, target, options),
    );
}

function addSessions(program: Command): void {
  const sessions = program
    .command("sessions")
    .description("Look into a store of sessions, and end what is left there.");

  addRowFilter(addStoreOptions(sessions.command("list")))
    .description("List the sessions of a store, those that were used last first.")
    .action(async (options, command: Command) =>
      (await import("./sessions/list.ts")).listSessions(options, command),
    );

  addEnding(addRowFilter(addStoreOptions(sessions.command("end"))))
    .argument("[rows...]", "the names of rows in a list; or choose with an option")
    .description(
      "End sessions, on their servers and in the store. With an option, waiting calls too.",
    )
    .action(async (rows: string[], options, command: Command) =>
      (await import("./sessions/end.ts")).endSessions(rows, options, command),
    );

  addEnding(addStoreOptions(sessions.command("sweep")))
    .description("End what nobody has used for a time, waiting calls too.")
    .requiredOption("--idle <time>", "for how long, such as 30m, 12h or 7d")
    .option("--agent <name>", "only of this agent; - for what agents share")
    .option("--touch-interval <time>", "your application's touchIntervalMs, if it sets it", "1m")
    .action(async (options, command: Command) =>
      (await import("./sessions/end.ts")).sweepSessions(options, command),
    );
}

function addEnding(command: Command): Command {
  return addServerOptions(command)
    .option("--records-only", "remove the records, and tell no server")
    .option("--yes", "do not ask");
}

function addWaiting(program: Command): void {
  const waiting = program
    .command("waiting")
    .description("Look at the calls that wait, and answer them.");

  addRowFilter(addStoreOptions(waiting.command("list")))
    .description("List the calls that wait, and what a person has to do.")
    .option("--all", "also those that are over, or were left by an earlier release")
    .action(async (options, command: Command) =>
      (await import("./waiting/list.ts")).listWaiting(options, command),
    );

  addServerOptions(addStoreOptions(waiting.command("answer")))
    .argument("<row>", "the name of the row in the list, or its first characters")
    .description("Show a call's questions, ask for the answers, and send them once.")
    .option(
      "--data <json>",
      "the answers under the server's keys, instead of questions; - for stdin",
    )
    .option("--ask-again", "if the time of the questions is up, start the call over")
    .option("--yes", "do not ask before the answers are sent")
    .action(async (row: string, options, command: Command) =>
      (await import("./waiting/answer.ts")).answerWaiting(row, options, command),
    );

  addServerOptions(addStoreOptions(waiting.command("withdraw")))
    .argument("<rows...>", "the names of the rows in the list")
    .description(
      "Take calls back. Servers that work on them are asked to stop, and the model is told.",
    )
    .option("--yes", "do not ask")
    .action(async (rows: string[], options, command: Command) =>
      (await import("./waiting/withdraw.ts")).withdrawWaiting(rows, options, command),
    );
}

function addTimeline(program: Command): void {
  program
    .command("timeline")
    .description("Writes a page that shows the steps of an agent session, from an event log.")
    .argument("<events.jsonl>", "the file that createEventLog writes")
    .option("--out <file>", "where the page goes", "timeline.html")
    .option("--svg <file>", "write only the picture, for a README")
    .option(
      "--session <digest>",
      "only this agent session, by the digest that the page and the log show",
    )
    .option("--json", "what was drawn, as JSON")
    .action(async (path: string, options, command: Command) =>
      (await import("./timeline/write-timeline.ts")).writeTimeline(path, options, command),
    );
}
