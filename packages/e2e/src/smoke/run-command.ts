import { spawn } from "node:child_process";

export interface CommandResult {
  readonly isDone: boolean;
  /** stdout and stderr, as they came. */
  readonly output: string;
}

/** Runs a command to its end, with two minutes to live. It has this process's environment without our toolchain's. */
export async function runCommand(
  folder: string,
  command: string,
  args: readonly string[],
): Promise<CommandResult> {
  const child = spawn(command, args, {
    cwd: folder,
    env: plainEnvironment(),
    stdio: ["ignore", "pipe", "pipe"],
    timeout: 120_000,
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (output += text));
  return await new Promise((resolve) => {
    child.on("error", (error) => resolve({ isDone: false, output: error.message }));
    child.on("close", (code) => resolve({ isDone: code === 0, output }));
  });
}

/** An empty project knows nothing of the settings that `npm run` hands on. */
export function plainEnvironment(): NodeJS.ProcessEnv {
  const entries = Object.entries(process.env).filter(
    ([name]) => !/^(npm_|NODE_OPTIONS)/i.test(name),
  );
  return { ...Object.fromEntries(entries), NO_COLOR: "1", NODE_NO_WARNINGS: "1" };
}
