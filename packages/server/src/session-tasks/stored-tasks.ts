import type { JsonValue } from "@durable-mcp/core";
import { fingerprint, randomName } from "../base/session-id.ts";
import type { Task } from "../base/task-types.ts";
import { isFailure } from "../records/commit-rows.ts";
import { editValue, putNew } from "../records/edit-value.ts";
import type { StoreContext } from "../records/store-context.ts";
import { removeAllUnder, storeKey, storeKeyPrefix } from "../records/store-key.ts";
import { expiryOf, isOver, parseTask, type TaskRecord, withStatus } from "./task-record.ts";

/** Tasks of one answer to `tasks/list`. */
const pageSize = 50;

/** As this process makes them; every other text is an unknown task. */
const idPattern = /^[\w-]{43}$/;

const diedMessage =
  "The process that ran this task has died, or could not store the result. Its work may have been done: check before you start it again.";

/** A task's change: the record as it is stored now, and whether it was changed. */
interface TaskChange {
  readonly record: TaskRecord | undefined;
  readonly isChanged: boolean;
}

/** Whose tasks they are. */
export interface TaskOwner {
  /** The first part of their keys: the hash of a principal, or of an anonymous client's session. */
  readonly scope: string;
  readonly owner: string;
}

/** Removes all tasks of a scope. */
export async function removeTasks({ store, settings }: StoreContext, scope: string): Promise<void> {
  for (const kind of ["session-task", "session-task-result"] as const) {
    await removeAllUnder(store, storeKeyPrefix(settings.name, kind, scope));
  }
}

/** The records of one principal's tasks. */
function createTaskRows({ store, settings }: StoreContext, { scope, owner }: TaskOwner) {
  const keyOf = (taskId: string) => storeKey(settings.name, "session-task", scope, taskId);
  const putOf = (record: TaskRecord) => ({ owner, expiresAt: expiryOf(record) });

  function read(value: unknown): TaskRecord | undefined {
    const record = parseTask(value);
    // The stores' clocks differ from ours.
    const isOurs = record?.owner === owner && expiryOf(record) > settings.now();
    return isOurs ? record : undefined;
  }

  /**
   * Changes a task that is not over. `change` is called again when another write was faster; `undefined`
   * leaves the record as it is.
   */
  async function edit(
    taskId: string,
    change: (record: TaskRecord) => TaskRecord | undefined,
  ): Promise<TaskChange> {
    if (!idPattern.test(taskId)) return { record: undefined, isChanged: false };
    const { value: record, outcome } = await editValue(store, keyOf(taskId), {
      read,
      change: (current) => (isOver(current) ? undefined : change(current)),
      put: putOf,
    });
    return { record, isChanged: outcome !== "unchanged" };
  }

  return {
    ...{ read, edit, putOf },
    create: (record: TaskRecord): Promise<void> =>
      putNew(store, keyOf(record.task.taskId), record, putOf(record)),
    find: async (taskId: string): Promise<TaskRecord | undefined> => {
      const stored = idPattern.test(taskId) ? await store.get(keyOf(taskId)) : undefined;
      return stored && read(stored.value);
    },
  };
}

/** The tasks of one principal in the store. */
export function createStoredTasks(context: StoreContext, { scope, owner }: TaskOwner) {
  const { store, replica, emit } = context;
  const { name, now } = context.settings;
  const { read, edit, putOf, create, find } = createTaskRows(context, { scope, owner });
  const resultKeyOf = (result: string) => storeKey(name, "session-task-result", scope, result);

  /** A task that runs nowhere any more has failed. */
  async function settle(record: TaskRecord): Promise<TaskRecord | undefined> {
    if (isOver(record)) return record;
    const { worker, task, session } = record;
    const seen = await replica.look(worker.replica, worker.name, worker.renewals);
    if (seen === "in-flight") return record;
    // Read again: it may have ended before its process was asked.
    const failed = await edit(task.taskId, (current) =>
      withStatus(current, now(), "failed", diedMessage),
    );
    if (failed.isChanged) emit({ type: "outcome-unknown", session: fingerprint(session) });
    return failed.record;
  }

  return {
    ...{ edit, create },
    find: async (taskId: string): Promise<TaskRecord | undefined> => {
      const record = await find(taskId);
      return record && (await settle(record));
    },
    /** Ends a task with a result, if it is not over. */
    finish: async (
      taskId: string,
      status: "completed" | "failed",
      value: JsonValue,
    ): Promise<TaskChange> => {
      const { record } = await edit(taskId, () => undefined);
      if (!record || isOver(record)) return { record, isChanged: false };
      // A name of its own: of two results at once, the record names the one that counts.
      const result = randomName();
      await putNew(store, resultKeyOf(result), value, putOf(record));
      const finished = await edit(taskId, (current) => ({
        ...withStatus(current, now(), status),
        result,
      }));
      if (!finished.isChanged) await store.delete(resultKeyOf(result));
      return finished;
    },
    resultOf: async ({ result }: TaskRecord): Promise<JsonValue | undefined> =>
      result === undefined ? undefined : (await store.get(resultKeyOf(result)))?.value,
    /** @throws {Error} for a cursor that is none of ours */
    list: async (cursor: string | undefined): Promise<{ tasks: Task[]; nextCursor?: string }> => {
      const prefix = storeKeyPrefix(name, "session-task", scope);
      const after = cursor === undefined ? undefined : decodeCursor(cursor);
      const query = { prefix, owner, limit: pageSize, cursor: after };
      const page = await store.list(query).catch((error: unknown) => {
        throw isFailure(error) || cursor === undefined ? error : invalidCursor();
      });
      const found = page.records.flatMap(({ value }) => read(value) ?? []);
      const settled = await Promise.all(found.map(settle));
      const tasks = settled.flatMap((record) => (record ? [taskOf(record)] : []));
      if (page.cursor === undefined) return { tasks };
      return { tasks, nextCursor: btoa(encodeURIComponent(page.cursor)) };
    },
  };
}

export type StoredTasks = ReturnType<typeof createStoredTasks>;

/** The task as its client sees it. */
export function taskOf({ task }: TaskRecord): Task {
  return task as Task;
}

function decodeCursor(cursor: string): string {
  try {
    return decodeURIComponent(atob(cursor));
  } catch {
    throw invalidCursor();
  }
}

function invalidCursor(): Error {
  return new Error("The cursor is none of tasks/list. Begin without one.");
}
