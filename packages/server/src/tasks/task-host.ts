import { isRecord } from "@durable-mcp/core/internal";
import type { Answer, JSONRPCRequest } from "../base/mcp-types.ts";
import { createSessionId } from "../base/session-id.ts";
import { createSessionCount } from "../records/session-count.ts";
import type { StoreContext } from "../records/store-context.ts";
import { createStoredTasks } from "../records/stored-tasks.ts";
import { describeTask, isOver, type TaskRecord } from "../records/task-record.ts";
import { idle } from "./leg-outcome.ts";
import { createTaskLook } from "./look-at-task.ts";
import { answered, checkedAnswers } from "./task-answers.ts";
import {
  createTaskLegs,
  NoRoom,
  type Owner,
  type LegSender,
  type LegServer,
  type RunningTask,
} from "./task-legs.ts";
import { rpcError } from "../base/json-rpc.ts";

export const tasksExtension = "io.modelcontextprotocol/tasks";

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

/** The tasks of one handler: any replica answers for each of them. */
export function createTaskHost<Caller extends Owner>(
  context: StoreContext,
  server: LegServer<Caller>,
) {
  const { settings, emit } = context;
  const { now } = settings;
  const tasks = createStoredTasks(context);
  const legs = createTaskLegs({ context, tasks, server });
  const { find, look } = createTaskLook(context, tasks, legs);
  const counts = createSessionCount(context.store, settings, "task");

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
