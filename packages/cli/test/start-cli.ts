import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const main = fileURLToPath(new URL("../src/main.ts", import.meta.url));
const flags = ["--conditions=@durable-mcp/source"];

/** Runs a program of this package in a process of its own, and keeps what it writes. */
export async function runProcess(
  program: string,
  args: readonly string[],
  { input = "", env = {} }: { readonly input?: string; readonly env?: NodeJS.ProcessEnv } = {},
) {
  const child = spawn(process.execPath, [...flags, program, ...args], {
    env: { ...process.env, ...env },
  });
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  child.stdin.end(input);
  const [exitCode] = (await once(child, "close")) as [number];
  return { exitCode, stdout, stderr };
}

/** Runs a command line in a process of its own. */
export const runMain = (args: readonly string[], options: Parameters<typeof runProcess>[2] = {}) =>
  runProcess(main, args, options);

/** A key that a person presses, as a terminal sends it. */
export const keys = { enter: "\r", down: "\u001b[B", left: "\u001b[D", space: " " } as const;

/**
 * Runs a command line at a terminal, through `script` of util-linux, where somebody answers.
 *
 * @param answers pairs of a text that the screen shows, and the keys that are pressed then
 */
export async function runAtTerminal(
  args: readonly string[],
  answers: readonly (readonly [shown: string, keys: string])[],
) {
  const words = [process.execPath, ...flags, main, ...args].map((word) => `'${word}'`).join(" ");
  // A terminal without a size would break every word.
  const command = `stty cols 100 rows 40; ${words}`;
  const child = spawn("script", ["-qec", command, "/dev/null"], { env: process.env });
  let screen = "";
  let seen = 0;
  const left = [...answers];
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    screen += text;
    const [next] = left;
    const at = next === undefined ? -1 : screen.indexOf(next[0], seen);
    if (next === undefined || at < 0) return;
    left.shift();
    seen = screen.length;
    // The prompt listens as soon as it has been drawn.
    setTimeout(() => child.stdin.write(next[1]), 50);
  });
  const [exitCode] = (await once(child, "close")) as [number];
  return { exitCode, screen, unanswered: left };
}
