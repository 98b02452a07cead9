import { addHeader } from "../credentials.ts";
import { type Command, InvalidArgumentError, Option } from "commander";
import { wrongUsage } from "../output/command-failure.ts";
import type { ProbeOptions } from "./read-target.ts";

const example = `
Examples:
  durable-mcp probe https://mcp.example/mcp
  durable-mcp probe http://localhost:8931/mcp --call browser_tabs --args '{"action":"list"}'
  durable-mcp probe -- npx -y @modelcontextprotocol/server-memory
  DURABLE_MCP_BEARER=… durable-mcp probe https://mcp.example/mcp
  durable-mcp probe https://mcp.example/mcp --header-env x-api-key=EXAMPLE_KEY

No tool is called unless --call names one. The probe ends each session that it makes.
Exit codes: 0 durable-mcp can use it; 1 it cannot yet, or a check failed; 2 wrong usage.`;

/** `probe <url | command...>`: what a server is, and what durable-mcp will do with it. */
export function addProbe(program: Command): void {
  program
    .command("probe")
    .description("Ask an MCP server what it is, and what durable-mcp will do with it.")
    .argument("<target...>", "a URL, or after -- a command and its arguments")
    .option("--json", "print one JSON document")
    .option("--call <name>", "call this tool: once alone, and once while a stream is open")
    .option("--args <json>", "the arguments of the call, a JSON object", readArguments)
    .option("--header-env <name=VARIABLE>", "send a header with the value of a variable", addHeader)
    .option("--env <VARIABLE>", "hand a variable on to the command", addName)
    .addOption(seconds("--timeout <seconds>", "for each request", 10))
    .addOption(seconds("--call-timeout <seconds>", "for the call", 60))
    .addOption(seconds("--watch <seconds>", "watch a session after its stream has closed", 10))
    .addHelpText("after", example)
    .action(async (target: string[], options: ProbeOptions, command: Command) => {
      const { runProbe } = await import("./run-probe.ts");
      await runProbe(command, target, options);
    });
}

const longestSeconds = 3_600;

function seconds(flags: string, description: string, usual: number): Option {
  return new Option(flags, `${description}, in seconds`).default(usual).argParser((text) => {
    const value = Number(text);
    if (Number.isFinite(value) && value > 0 && value <= longestSeconds) return value;
    throw new InvalidArgumentError(`A number of seconds up to ${longestSeconds} is meant.`);
  });
}

function readArguments(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) {
      return value as Record<string, unknown>;
    }
  } catch {
    // The message below is for this as well.
  }
  throw new InvalidArgumentError(`A JSON object is meant, such as '{"action":"list"}'.`);
}

function addName(name: string, before: readonly string[] = []): string[] {
  if (/^[A-Za-z_]\w*$/.test(name)) return [...before, name];
  throw wrongUsage("--env takes the name of an environment variable, without a value.");
}
