import { type ChildProcess, spawn } from "node:child_process";
import { compileCache, keepCompiled } from "../processes/compile-cache.ts";
import { freePort } from "../processes/free-port.ts";
import { killProcessTree } from "../processes/process-tree.ts";

/** A real MCP server in a process of its own. */
export interface TestServer {
  name: string;
  url: string;
  /** The last lines it printed. */
  output: () => string;
  /** Of its own process, while it runs. */
  pid: () => number | undefined;
  /** Kills its own process without a look at others, which takes a while. */
  killAtOnce: () => void;
  /** Kills the whole process tree, as a crash would. */
  kill: () => Promise<void>;
  /** Kills it and starts a new process on the same port. */
  restart: () => Promise<void>;
  /** Asks it to end (SIGTERM), waits until it has, and starts a new process on the same port. */
  restartPolitely: () => Promise<void>;
  /** Kills it if it runs and cleans up. */
  stop: () => Promise<void>;
}

export interface ServerCommand {
  name: string;
  /** @default node */
  program?: string;
  /** Arguments of the program; of `node`, the script first. */
  args: (port: number) => string[];
  env?: (port: number) => Record<string, string>;
  cwd?: string;
  path?: string;
  onStop?: () => void;
}

/** A busy machine takes its time; a server that is not coming fails all the same. */
const startTimeoutMs = 60_000;
const keptOutputCharacters = 8_000;

/** Starts a server on a free port of 127.0.0.1 and waits until it answers HTTP. */
export async function startServerProcess(command: ServerCommand): Promise<TestServer> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}${command.path ?? "/mcp"}`;
  let child: ChildProcess | undefined;
  let output = "";

  const killNow = () => {
    if (child?.pid !== undefined && child.exitCode === null && child.signalCode === null)
      killProcessTree(child.pid);
  };
  process.once("exit", killNow);

  async function start(): Promise<void> {
    const env = { ...process.env, ...compileCache, ...command.env?.(port) };
    const [program, args] = command.program
      ? [command.program, command.args(port)]
      : [process.execPath, [...keepCompiled(), ...command.args(port)]];
    const started = spawn(program, args, {
      cwd: command.cwd,
      env,
      stdio: ["ignore", "pipe", "pipe"],
    });
    child = started;
    for (const stream of [started.stdout, started.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        output = (output + text).slice(-keptOutputCharacters);
      });
    }
    await untilItAnswers(url, () => {
      if (started.exitCode === null && started.signalCode === null) return;
      throw new Error(`${command.name} ended while starting:\n${output}`);
    }).catch((error: unknown) => {
      killNow();
      throw new Error(`${command.name} did not start:\n${output}`, { cause: error });
    });
  }

  async function kill(): Promise<void> {
    const running = child;
    child = undefined;
    if (running?.pid === undefined || running.exitCode !== null || running.signalCode !== null)
      return;
    const ended = new Promise((resolve) => running.once("exit", resolve));
    killProcessTree(running.pid);
    await ended;
  }

  await start();
  return {
    name: command.name,
    url,
    output: () => output,
    pid: () => child?.pid,
    killAtOnce: () => void child?.kill("SIGKILL"),
    kill,
    restart: async () => {
      await kill();
      await start();
    },
    restartPolitely: async () => {
      const running = child;
      child = undefined;
      if (running && running.exitCode === null && running.signalCode === null) {
        const ended = new Promise((resolve) => running.once("exit", resolve));
        running.kill("SIGTERM");
        await ended;
      }
      await start();
    },
    stop: async () => {
      await kill();
      process.off("exit", killNow);
      command.onStop?.();
    },
  };
}

/** Any HTTP answer counts: what a server says to a GET without a session differs. */
async function untilItAnswers(url: string, check: () => void): Promise<void> {
  const deadline = Date.now() + startTimeoutMs;
  for (;;) {
    check();
    try {
      const response = await fetch(url, { signal: AbortSignal.timeout(2_000) });
      await response.body?.cancel();
      return;
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}
