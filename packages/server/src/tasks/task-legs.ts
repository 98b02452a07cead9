import { wait } from "@durable-mcp/core/internal";
import type { Answer, AuthInfo, JSONRPCRequest } from "../base/mcp-types.ts";
import { randomName } from "../base/session-id.ts";
import { isFailure } from "../records/commit-rows.ts";
import type { CallHold } from "../records/replica.ts";
import type { StoreContext } from "../records/store-context.ts";
import type { StoredTasks } from "../records/stored-tasks.ts";
import type { TaskRecord } from "../records/task-record.ts";
import { withAnswer } from "./leg-outcome.ts";

/** The task for which a tool's handler runs. */
export interface RunningTask {
  /** The same in each run of the handler: a key for work that must be done once. */
  readonly taskId: string;
  /**
   * Tells clients how far the work is.
   * @param message for a person; 1,000 characters of it are kept
   * @throws {McpSessionError} `STORE_FAILED`
   */
  status(message: string): Promise<void>;
}

/** Who sent the request because of which a leg runs. */
export interface LegSender<Caller> {
  readonly caller: Caller;
  readonly authInfo: AuthInfo | undefined;
  readonly request: { readonly request: Request };
}

/** One leg of a task: a `tools/call` that this process makes of itself. */
export interface Leg<Caller> extends Omit<LegSender<Caller>, "request"> {
  readonly request: Request;
  readonly message: JSONRPCRequest;
  readonly task: RunningTask;
  readonly onAnswer: (answer: Answer) => void;
}

/** This process has no room for another leg. */
export class NoRoom extends Error {
  readonly code = -32_000;
}

/** How legs are carried out. */
export interface LegServer<Caller> {
  /** Counts a leg. @returns counts one less; throws {@link NoRoom} */
  enter(caller: Caller): () => void;
  /** Resolves when the tool's handler has returned, or was aborted. */
  serve(leg: Leg<Caller>): Promise<void>;
}

/** Whose a task is. */
export interface Owner {
  readonly owner: string;
  readonly principal: { readonly type: string };
}

/** Where a task is. */
export interface TaskPlace {
  readonly taskId: string;
  readonly key: string;
}

type Worker = NonNullable<TaskRecord["worker"]>;

/** What all legs of a handler's tasks share. */
interface LegParts<Caller> {
  readonly context: StoreContext;
  readonly tasks: StoredTasks;
  readonly server: LegServer<Caller>;
}

/** In characters. */
const maxMessageLength = 1_000;

/** The legs that this process carries out. A lease tells the others that it does. */
export function createTaskLegs<Caller>(parts: LegParts<Caller>) {
  const { context, server } = parts;
  const { replica, emit } = context;
  const running = new Set<Promise<void>>();

  return {
    /**
     * Carries out a leg, if `claim` stores this process as its worker.
     * @returns what `claim` did
     */
    async take(
      place: TaskPlace,
      sender: LegSender<Caller>,
      claim: (worker: Worker) => Promise<TaskRecord | undefined>,
    ): Promise<TaskRecord | undefined> {
      const call = randomName();
      const leave = server.enter(sender.caller);
      let hold: CallHold | undefined;
      const end = () => {
        hold?.release();
        leave();
      };
      try {
        hold = await replica.hold(call);
        const record = await claim({ replica: replica.token, call, renewals: hold.renewals });
        if (record?.worker?.call !== call) {
          end();
          return record;
        }
        // The task counts as lost when it is looked at.
        const work: Promise<void> = carryOut(parts, place, record, sender)
          .catch((error: unknown) => {
            // The store has emitted its own failures.
            if (!isFailure(error)) emit({ type: "failed", error });
          })
          .finally(() => {
            end();
            running.delete(work);
          });
        running.add(work);
        return record;
      } catch (error) {
        end();
        throw error;
      }
    },
    /** Legs at work here. */
    get count() {
      return running.size;
    },
    /** Resolves when those that run now have ended, and their results are stored. */
    whenEnded: async () => void (await Promise.all(running)),
  };
}

/** Carries out a leg that this process has claimed, and stores what it makes of the task. */
async function carryOut<Caller>(
  parts: LegParts<Caller>,
  { taskId, key }: TaskPlace,
  record: TaskRecord,
  sender: LegSender<Caller>,
): Promise<void> {
  const { context, tasks, server } = parts;
  const { emit, settings } = context;
  const { now, events } = settings;
  const { call } = record.worker!;
  const ifOurs = (change: (current: TaskRecord) => TaskRecord) =>
    tasks.change(key, (current) => (current.worker?.call === call ? change(current) : undefined));
  const task: RunningTask = {
    taskId,
    status: async (message) => {
      const statusMessage = message.slice(0, maxMessageLength);
      await ifOurs((current) => ({ ...current, statusMessage, updatedAt: now() }));
    },
  };
  const [abort, done] = [new AbortController(), new AbortController()];
  const message = { jsonrpc: "2.0" as const, id: call, method: "tools/call" };
  const own = { ...message, params: record.params };
  const request = requestOf(record, sender.request.request, own, abort.signal);
  let answer: Answer | undefined;
  const onAnswer = (given: Answer) => {
    answer = given;
  };
  const { caller, authInfo } = sender;
  void follow(parts, { key, call }, abort, done.signal);
  await server
    .serve({ caller, authInfo, request, message: own, task, onAnswer })
    .catch((error: unknown) => emit({ type: "failed", error }));
  done.abort();
  if (abort.signal.aborted && !answer) return;
  // The handler closes: whoever asks for the task next finds no worker, and begins the leg again.
  if (record.runAgain && isUnknown(answer)) return;
  const ended = await ifOurs((current) =>
    withAnswer(current, answer, { now: now(), maxLength: events.maxLength }),
  );
  if (!ended) emit({ type: "task-late" });
}

/** Aborts a leg whose task has ended, is gone or is another process's. */
async function follow<Caller>(
  { context: { signals, settings }, tasks }: LegParts<Caller>,
  { key, call }: { readonly key: string; readonly call: string },
  abort: AbortController,
  done: AbortSignal,
): Promise<void> {
  const { timeouts } = settings;
  // Most legs are over by then, and read nothing.
  await wait(timeouts.pollIntervalMs, done).catch(() => {});
  if (done.aborted) return;
  const watching = signals.watch(key);
  try {
    while (!done.aborted) {
      // The store has emitted its failure, and is asked again.
      const isOurs = await tasks.find(key).then(
        (record) => record?.worker?.call === call,
        () => true,
      );
      if (!isOurs) return abort.abort();
      await watching.next(timeouts.leaseMs, done);
    }
  } finally {
    watching.stop();
  }
}

/** A request as the task's client sent it, from the sender whose request leads to this leg. */
function requestOf(
  { params, headers: own }: TaskRecord,
  { url, headers: given }: Request,
  message: JSONRPCRequest,
  signal: AbortSignal,
): Request {
  const headers = new Headers(given);
  for (const name of [...headers.keys()]) {
    if (/^(mcp-|content-length$|transfer-encoding$)/.test(name)) headers.delete(name);
  }
  const { _meta: meta } = params as { _meta?: Record<string, unknown> };
  headers.set("mcp-protocol-version", String(meta?.["io.modelcontextprotocol/protocolVersion"]));
  headers.set("mcp-method", "tools/call");
  for (const [name, value] of Object.entries(own)) headers.set(name, value);
  return new Request(url, { method: "POST", headers, body: JSON.stringify(message), signal });
}

function isUnknown(answer: Answer | undefined): boolean {
  if (!answer || !("error" in answer)) return false;
  return (answer.error.data as { code?: unknown } | undefined)?.code === "OUTCOME_UNKNOWN";
}

export type TaskLegs<Caller> = ReturnType<typeof createTaskLegs<Caller>>;
