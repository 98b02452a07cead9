import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";

/**
 * Runs this program once more, in a process of its own, with other arguments. What ends this process ends that one.
 *
 * @param input what it gets on stdin
 */
export async function startAgain(
  args: readonly string[],
  input = "",
): Promise<{ readonly ended: number | NodeJS.Signals | null; readonly output: string }> {
  const program = process.argv[1] ?? "";
  const child = spawn(process.execPath, [...process.execArgv, program, ...args], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const stop = () => child.kill();
  process.once("SIGTERM", stop);
  child.stdin.end(input);
  const ending = new Promise<number | NodeJS.Signals | null>((resolve) =>
    child.once("close", (code, signal) => resolve(code ?? signal)),
  );
  const output = await text(child.stdout);
  const ended = await ending;
  process.off("SIGTERM", stop);
  return { ended, output };
}
