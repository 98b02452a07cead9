import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { JsonValue } from "@durable-mcp/core";

/** A task for a worker process. It answers with a number. */
export type StoreTask =
  /** Opens the store. Answers 0. */
  | { readonly task: "open" }
  /** Adds 1 to the value `times` times. Answers the number of conflicts. */
  | { readonly task: "count"; readonly key: string; readonly times: number }
  /** Puts a value if there is none. Answers 1 if it did. */
  | { readonly task: "create"; readonly key: string; readonly value: JsonValue }
  /** Deletes a revision. Answers 1 if it did. */
  | { readonly task: "delete"; readonly key: string; readonly revision: string }
  /** Adds 1 to two values in a batch, `times` times. Answers the number of conflicts. */
  | {
      readonly task: "count both";
      readonly keys: readonly [string, string];
      readonly times: number;
    }
  /** Tells the subscribers of a topic. Answers 0. */
  | { readonly task: "publish"; readonly topic: string };

/** A message of a worker process: `ready` once, then an answer for each task. */
export type StoreWorkerMessage =
  | { readonly ready: true }
  | { readonly result: number }
  | { readonly error: string };

export interface StoreWorker {
  readonly ready: Promise<void>;
  /** One task at a time. */
  ask(task: StoreTask): Promise<number>;
  kill(): void;
}

/** Starts a process that opens the store when it gets that task. */
export function startStoreWorker({
  module,
  data,
  execArgv = [],
}: {
  readonly module: URL;
  readonly data?: (() => JsonValue) | undefined;
  readonly execArgv?: readonly string[] | undefined;
}): StoreWorker {
  const child = fork(
    fileURLToPath(new URL("./store-worker-program.ts", import.meta.url)),
    [module.href, JSON.stringify(data?.() ?? null)],
    { execArgv: [...execArgv], stdio: ["ignore", "inherit", "inherit", "ipc"] },
  );
  const ready = nextMessage(child).then(() => undefined);
  // Reported where it is awaited.
  ready.catch(() => undefined);
  return {
    ready,
    async ask(task) {
      const answer = nextMessage(child);
      child.send(task);
      const message = await answer;
      if ("error" in message) throw new Error(`A process of the test failed: ${message.error}`);
      return "result" in message ? message.result : 0;
    },
    kill: () => void child.kill("SIGKILL"),
  };
}

function nextMessage(child: ChildProcess): Promise<StoreWorkerMessage> {
  return new Promise((resolve, reject) => {
    const onMessage = (message: unknown) => {
      child.off("exit", onExit);
      resolve(message as StoreWorkerMessage);
    };
    const onExit = (code: number | null) => {
      child.off("message", onMessage);
      reject(new Error(`A process of the test ended (${code}).`));
    };
    child.once("message", onMessage);
    child.once("exit", onExit);
  });
}
