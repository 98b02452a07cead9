import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { ProcessFigures } from "./serve-and-report.ts";

/** A server in a process of its own. */
export interface MeasuredServer {
  readonly port: number;
  readonly figures: () => Promise<ProcessFigures>;
  /** After its garbage was collected. */
  readonly figuresWithoutGarbage: () => Promise<ProcessFigures>;
  readonly stop: () => Promise<void>;
}

/** Starts a program of this folder, which ends with this process. */
export async function startMeasuredServer(
  program: string,
  args: readonly string[],
): Promise<MeasuredServer> {
  const path = fileURLToPath(new URL(program, import.meta.url));
  const options = [
    "--conditions=@durable-mcp/source",
    "--disable-warning=ExperimentalWarning",
    "--expose-gc",
  ];
  const child = spawn(process.execPath, [...options, path, ...args], {
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  const { port } = await nextMessage<{ port: number }>(child);
  const ask = (question: string) => {
    child.send(question);
    return nextMessage<ProcessFigures>(child);
  };
  return {
    port,
    figures: () => ask("figures"),
    figuresWithoutGarbage: () => ask("figures without garbage"),
    stop: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = once(child, "exit");
      child.send("exit");
      await gone;
    },
  };
}

async function nextMessage<Message>(child: ChildProcess): Promise<Message> {
  const ended = new AbortController();
  const exit = once(child, "exit", { signal: ended.signal }).then(() => {
    throw new Error(`The server ended: ${child.spawnargs.slice(1).join(" ")}`);
  });
  try {
    const [message] = await Promise.race([once(child, "message", { signal: ended.signal }), exit]);
    return message;
  } finally {
    ended.abort();
    exit.catch(() => undefined);
  }
}
