import { hashSessionId } from "../base/session-id.ts";
import { editValue, putNew } from "./edit-value.ts";
import type { StoreContext } from "./store-context.ts";
import { storeKey } from "./store-key.ts";
import { freeForOthers } from "./stored-states.ts";
import { parseTaskRecord, type TaskRecord } from "./task-record.ts";

/** What a change of a task makes of it; `undefined` leaves it as it is. */
type TaskChange = (record: TaskRecord) => TaskRecord | undefined;

/** The tasks of one handler in its store. The store has only hashes of their ids. */
export function createStoredTasks({ store, settings, signals }: StoreContext) {
  const { name, now } = settings;
  const read = (value: unknown) => {
    const record = parseTaskRecord(value);
    // The stores' clocks differ from ours.
    return record && record.createdAt + record.ttlMs > now() ? record : undefined;
  };
  return {
    /** Names the task in the store; also the topic of its signals. `undefined` for a text that is no id. */
    keyOf: async (taskId: string): Promise<string | undefined> => {
      const hash = await hashSessionId(taskId);
      return hash === undefined ? undefined : storeKey(name, "task", hash);
    },
    /** @throws {McpSessionError} `STORE_FAILED` */
    create: (key: string, record: TaskRecord): Promise<void> =>
      putNew(store, key, record, { ...putOf(record), leaveFree: freeForOthers }),
    /** `undefined` when it is gone. */
    find: async (key: string): Promise<TaskRecord | undefined> =>
      read((await store.get(key))?.value),
    /**
     * @returns the task after the change; `undefined` when it is gone or the change left it as it is
     * @throws {McpSessionError} `STORE_FAILED`, after which it may have been changed
     */
    change: async (key: string, change: TaskChange): Promise<TaskRecord | undefined> => {
      // A task that was ended meanwhile is not brought back.
      const { value, outcome } = await editValue(store, key, { read, change, put: putOf });
      if (outcome === "unchanged") return undefined;
      signals.send(key);
      return value;
    },
  };
}

export type StoredTasks = ReturnType<typeof createStoredTasks>;

const putOf = ({ owner, createdAt, ttlMs }: TaskRecord) => ({
  owner,
  expiresAt: createdAt + ttlMs,
});
