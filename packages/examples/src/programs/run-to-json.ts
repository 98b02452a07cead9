import { once } from "node:events";
import { text } from "node:stream/consumers";
import { startProgram } from "./start-program.ts";

/** Runs a step in a process of its own, to its good end, and gives what it printed: one line of JSON. */
export async function runToJson<REPORT>(
  program: URL,
  args: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): Promise<REPORT> {
  const child = startProgram(program, args, { env, stdio: ["ignore", "pipe", "inherit"] });
  const [stdout, [exitCode]] = await Promise.all([text(child.stdout!), once(child, "close")]);
  if (exitCode !== 0) throw new Error(`${program.pathname} ended with exit code ${exitCode}.`);
  return JSON.parse(stdout) as REPORT;
}
