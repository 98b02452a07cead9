import { rpcError } from "../base/json-rpc.ts";
import type { StoreContext } from "../records/store-context.ts";
import type { StoredTasks } from "../records/stored-tasks.ts";
import type { TaskRecord } from "../records/task-record.ts";
import { failedWith } from "./leg-outcome.ts";
import { type LegSender, NoRoom, type Owner, type TaskLegs, type TaskPlace } from "./task-legs.ts";

/** How often a leg is begun at most, each time because its process died. */
const maxRuns = 5;

/** Finds tasks for their principals, and sees to those whose worker has died. */
export function createTaskLook<Caller extends Owner>(
  { settings: { now }, replica, emit }: StoreContext,
  tasks: StoredTasks,
  legs: TaskLegs<Caller>,
) {
  async function find(taskId: string, { owner }: Owner) {
    const key = await tasks.keyOf(taskId);
    const record = key === undefined ? undefined : await tasks.find(key);
    if (key === undefined || record?.owner !== owner) throw unknownTask();
    return { place: { taskId, key }, record };
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

  return { find, look };
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
