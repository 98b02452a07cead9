import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { atExit } from "../../src/programs/at-exit.ts";
import { findFreePort } from "../../src/programs/wait-for-port.ts";

export interface StepRun {
  readonly pid: number;
  /** The step function's name. */
  readonly step: string;
}

/** The engine's host, which is killed and started again. */
export interface Host {
  /** One each time it was started. */
  readonly pids: number[];
  /** Those that have ended. */
  readonly steps: StepRun[];
  start(): Promise<void>;
  /** Kills it and the steps under way with `kill -9`. */
  kill(): Promise<void>;
  startRun(workflowId: string, options: unknown): Promise<string>;
  result(runId: string): Promise<unknown>;
  /** Waits until so many tools were called. */
  untilCalls(count: number): Promise<void>;
}

const toolSteps = new Set(["mcpCall", "callTool"]);

// oxlint-disable-next-line max-lines-per-function -- one process, with all that it can be told to do
export function createHost({
  place,
  env,
  onStep,
}: {
  /** Where the engine keeps its runs. */
  place: string;
  env: Record<string, string>;
  onStep: (step: StepRun) => void;
}): Host {
  const pids: number[] = [];
  const steps: StepRun[] = [];
  let child: ChildProcess | undefined;
  let url = "";
  let noteStep: (() => void) | undefined;

  const killGroup = () => {
    try {
      if (child?.exitCode === null && child.signalCode === null)
        process.kill(-child.pid!, "SIGKILL");
    } catch {
      // It is gone.
    }
  };
  atExit(killGroup);

  const post = async (path: string, body: object): Promise<unknown> => {
    const response = await fetch(`${url}${path}`, { method: "POST", body: JSON.stringify(body) });
    if (!response.ok) throw new Error(await response.text());
    return await response.json();
  };

  return {
    pids,
    steps,
    async start() {
      const port = await findFreePort();
      url = `http://127.0.0.1:${port}`;
      const program = fileURLToPath(new URL("host.ts", import.meta.url));
      child = spawn(process.execPath, [...process.execArgv, program, place, String(port)], {
        env: { ...process.env, ...env },
        stdio: ["ignore", "pipe", "inherit"],
        // A process group of its own, so that a kill takes the steps with it.
        detached: true,
      });
      const ready = Promise.withResolvers<void>();
      child.once("exit", () => ready.reject(new Error("The host ended before it was ready.")));
      createInterface({ input: child.stdout! }).on("line", (line) => {
        if (!line.startsWith('{"')) return;
        const message = JSON.parse(line) as StepRun | { ready: number };
        if ("ready" in message) {
          pids.push(message.ready);
          return ready.resolve();
        }
        steps.push(message);
        onStep(message);
        noteStep?.();
      });
      await ready.promise;
    },
    async kill() {
      if (child === undefined) return;
      const gone = once(child, "exit");
      killGroup();
      await gone;
    },
    async startRun(workflowId, options) {
      const { runId } = (await post("/start", { workflowId, options })) as { runId: string };
      return runId;
    },
    result: (runId) => post("/result", { runId }),
    async untilCalls(count) {
      const { promise, resolve } = Promise.withResolvers<void>();
      noteStep = () => {
        if (steps.filter(({ step }) => toolSteps.has(step)).length >= count) resolve();
      };
      noteStep();
      await promise;
    },
  };
}
