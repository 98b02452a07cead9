import { plainText } from "@durable-mcp/core/internal";
import { Command, CommanderError, type OutputConfiguration } from "commander";
import { CommandFailure } from "./output/command-failure.ts";
import { addProbe } from "./probe/index.ts";
import { addSessions } from "./sessions/index.ts";
import { addTimeline } from "./timeline/index.ts";
import { addWaiting } from "./waiting/index.ts";

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
  addProbe(program);
  addSessions(program);
  addWaiting(program);
  addTimeline(program);
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
