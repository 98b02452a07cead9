import { isRecord } from "@durable-mcp/core/internal";
import type { Answer, JSONRPCRequest } from "../base/mcp-types.ts";
import { createSessionId } from "../base/session-id.ts";
import { createSessionCount } from "../records/session-count.ts";
import type { StoreContext } from "../records/store-context.ts";
import { createStoredTasks } from "../records/stored-tasks.ts";
import { describeTask, isOver, type TaskRecord } from "../records/task-record.ts";
import { failedWith, idle } from "./leg-outcome.ts";
import { answered, checkedAnswers } from "./task-answers.ts";
import {
  createTaskLegs,
  type LegSender,
  type LegServer,
  type RunningTask,
  type TaskPlace,
} from "./task-legs.ts";
import { rpcError } from "../base/json-rpc.ts";

export const tasksExtension = "io.modelcontextprotocol/tasks";

/** How often a leg is begun at most, each time because its process died. */
const maxRuns = 5;

/** How the task of a call is kept. */
export interface TaskTimes {
  readonly ttlMs: number;
  readonly pollIntervalMs: number;
  readonly runAgain: boolean;
}

/** What a request is answered with in place of what its server says. */
export type AnswerInstead =
  | { readonly result: Record<string, unknown> }
  | { readonly error: Extract<Answer, { error: unknown }>["error"] };

interface Owner {
  readonly owner: string;
  readonly principal: { readonly type: string };
}

/** The tasks that one request of 2026-07-28 can begin and see: those of its principal. */
export interface RequestTasks {
  /** Its client takes tasks. */
  readonly isDeclared: boolean;
  /** The task of which the request is a leg. */
  readonly running: RunningTask | undefined;
  /** Stores a task for the request, which is a `tools/call`, and begins to work on it. */
  begin(times: TaskTimes): Promise<void>;
  answerInstead(answer: AnswerInstead): void;
  /** @throws a JSON-RPC error, −32602, for a task that is unknown to the principal; so do the others */
  get(taskId: string): Promise<Record<string, unknown>>;
  /** Takes the answers in the request. */
  update(taskId: string): Promise<void>;
  cancel(taskId: string): Promise<void>;
}

/** The tasks that a server can begin, for `serveTasks` of `@durable-mcp/server/tasks`. */
export interface ServerTasks {
  /** Not for applications: it may change with every release. `undefined` in sessions, which have no tasks. */
  readonly ofRequest?: RequestTasks | undefined;
}

/** A request, as far as tasks are concerned. */
export interface TaskRequest<Caller> extends LegSender<Caller> {
  readonly message: JSONRPCRequest | undefined;
  readonly running: RunningTask | undefined;
  readonly answerInstead: (answer: AnswerInstead) => void;
}

/** This process has no room for another leg. */
export class NoRoom extends Error {
  readonly code = -32_000;
}

/** The tasks of one handler: any replica answers for each of them. */
// oxlint-disable-next-line max-lines-per-function -- its state, and functions of a few lines each
export function createTaskHost<Caller extends Owner>(
  context: StoreContext,
  server: LegServer<Caller>,
) {
  const { settings, replica, emit } = context;
  const { now } = settings;
  const tasks = createStoredTasks(context);
  const legs = createTaskLegs(context, tasks, server);
  const counts = createSessionCount(context.store, settings, "task");

  async function find(taskId: string, { owner }: Owner) {
    const key = await tasks.keyOf(taskId);
    const record = key === undefined ? undefined : await tasks.find(key);
    if (key === undefined || record?.owner !== owner) throw unknownTask();
    return { place: { taskId, key }, record };
  }

  /** The task as it is, after a look whether somebody still works on it. */
  async function look(taskId: string, sender: LegSender<Caller>) {
    const { place, record: first } = await find(taskId, sender.caller);
    const { worker } = first;
    if (!worker) return { place, record: first };
    const { replica: token, call, renewals } = worker;
    if ((await replica.look(token, call, renewals)) === "in-flight")
      return { place, record: first };
    // Its worker may have ended it since it was read.
    const { record } = await find(taskId, sender.caller);
    if (record.worker?.call !== call) return { place, record };
    const isLost = (current: TaskRecord) => current.worker?.call === call;
    const runsAgain = record.runAgain && record.runs < maxRuns;
    const settled = runsAgain
      ? await beginAgain(place, sender, isLost)
      : await tasks.change(place.key, (current) =>
          isLost(current) ? { ...lost(current), updatedAt: now() } : undefined,
        );
    if (!settled) return await find(taskId, sender.caller);
    emit({ type: "task-lost", runsAgain });
    return { place, record: settled };
  }

  async function beginAgain(
    place: TaskPlace,
    sender: LegSender<Caller>,
    isLost: (current: TaskRecord) => boolean,
  ): Promise<TaskRecord | undefined> {
    const change = (worker: TaskRecord["worker"]) =>
      tasks.change(place.key, (current) =>
        isLost(current)
          ? { ...current, worker, runs: current.runs + 1, updatedAt: now() }
          : undefined,
      );
    return await legs.take(place, sender, change).catch((error: unknown) => {
      if (!(error instanceof NoRoom)) throw error;
      // The next look tries again.
      return undefined;
    });
  }

  async function begin(request: TaskRequest<Caller>, times: TaskTimes): Promise<void> {
    const { caller, answerInstead } = request;
    const { owner, principal } = caller;
    if (principal.type !== "anonymous" && (await counts.isFull(owner))) {
      emit({ type: "refused", reason: "too-many-tasks" });
      const { tasksPerPrincipal } = settings.limits;
      const message = `Too many tasks (limits.tasksPerPrincipal: ${tasksPerPrincipal}). Wait until one expires.`;
      return answerInstead({ error: { code: -32_000, message } });
    }
    const record = newRecord(request, times, now());
    const { maxLength } = settings.events;
    if (JSON.stringify(record).length > maxLength) {
      const message = `The arguments are too long for a task: it takes ${maxLength} characters of JSON at most.`;
      return answerInstead({ error: { code: -32_602, message } });
    }
    const taskId = createSessionId();
    const place = { taskId, key: (await tasks.keyOf(taskId))! };
    try {
      await legs.take(place, request, async (worker) => {
        const own = { ...record, worker };
        await tasks.create(place.key, own);
        return own;
      });
    } catch (error) {
      if (!(error instanceof NoRoom)) throw error;
      return answerInstead({ error: { code: error.code, message: error.message } });
    }
    counts.started(owner);
    answerInstead({ result: { resultType: "task", ...describeTask(taskId, record) } });
  }

  async function update(request: TaskRequest<Caller>, taskId: string): Promise<void> {
    const responses = request.message?.params?.["inputResponses"];
    if (!isRecord(responses)) {
      throw rpcError(-32_602, "inputResponses must be an object with an answer for each key.");
    }
    const { place, record } = await look(taskId, request);
    const given = checkedAnswers(record, responses);
    if (Object.keys(given).length === 0) return;
    await legs.take(place, request, (worker) =>
      tasks.change(place.key, (current) => {
        const next = answered(current, given, worker);
        return next && { ...next, updatedAt: now() };
      }),
    );
  }

  return {
    of: (request: TaskRequest<Caller>): RequestTasks => ({
      isDeclared: isDeclaredIn(request.message),
      running: request.running,
      begin: (times) => begin(request, times),
      answerInstead: request.answerInstead,
      get: async (taskId) => describeTask(taskId, (await look(taskId, request)).record),
      update: (taskId) => update(request, taskId),
      cancel: async (taskId) => {
        const { place } = await find(taskId, request.caller);
        await tasks.change(place.key, (current) =>
          isOver(current) ? undefined : { ...idle(current), status: "cancelled", updatedAt: now() },
        );
      },
    }),
    /** Legs at work in this process. */
    get uses() {
      return legs.count;
    },
    whenEnded: legs.whenEnded,
  };
}

function isDeclaredIn(message: JSONRPCRequest | undefined): boolean {
  const { _meta: meta } = (message?.params ?? {}) as { _meta?: Record<string, unknown> };
  const capabilities = meta?.["io.modelcontextprotocol/clientCapabilities"];
  const extensions = isRecord(capabilities) ? capabilities["extensions"] : undefined;
  return isRecord(extensions) && isRecord(extensions[tasksExtension]);
}

function newRecord(
  { caller, message, request }: TaskRequest<Owner>,
  times: TaskTimes,
  at: number,
): TaskRecord {
  const { task: _, _meta, ...params } = message?.params ?? {};
  // A task has no progress.
  const { progressToken: _token, ...meta } = isRecord(_meta) ? _meta : {};
  const headers = [...request.request.headers].filter(([name]) => /^mcp-(name$|param-)/.test(name));
  return {
    ...{ version: 1, owner: caller.owner, createdAt: at, updatedAt: at, ...times },
    ...{ status: "working", params: { ...params, _meta: meta } },
    ...{ headers: Object.fromEntries(headers), runs: 1, keys: [] },
  };
}

function lost(record: TaskRecord): TaskRecord {
  return failedWith(
    record,
    "The process that worked on this task died. Whether the work was done is unknown; check before you call again.",
    "OUTCOME_UNKNOWN",
  );
}

function unknownTask(): Error {
  return rpcError(
    -32_602,
    "Unknown task: there is none, it has expired, or it is somebody else's.",
  );
}
