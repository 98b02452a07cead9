import { spawn } from "node:child_process";

export interface CommandResult {
  readonly isDone: boolean;
  /** stdout and stderr, as they came. */
  readonly output: string;
}

/** Runs a command to its end, by default with two minutes to live. It has this process's environment without our toolchain's. */
export async function runCommand(
  folder: string,
  command: string,
  args: readonly string[],
  timeoutMs = 120_000,
): Promise<CommandResult> {
  const child = spawn(command, args, {
    cwd: folder,
    env: plainEnvironment(),
    stdio: ["ignore", "pipe", "pipe"],
    // A group of its own: what it has started ends with it.
    detached: true,
  });
  const end = () => {
    try {
      process.kill(-child.pid!, "SIGKILL");
    } catch {
      // Nobody of it is left.
    }
  };
  const timer = setTimeout(end, timeoutMs);
  process.once("exit", end);
  child.on("exit", end);
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (output += text));
  return await new Promise((resolve) => {
    child.on("error", (error) => resolve({ isDone: false, output: error.message }));
    child.on("close", (code) => {
      clearTimeout(timer);
      process.off("exit", end);
      resolve({ isDone: code === 0, output });
    });
  });
}

/** An empty project knows nothing of the settings that `npm run` hands on. */
export function plainEnvironment(): NodeJS.ProcessEnv {
  const entries = Object.entries(process.env).filter(
    ([name]) => !/^(npm_|NODE_OPTIONS)/i.test(name),
  );
  return { ...Object.fromEntries(entries), NO_COLOR: "1", NODE_NO_WARNINGS: "1" };
}
