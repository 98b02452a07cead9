import type { WaitingCallPlan } from "./waiting-plan.ts";
import { stateMarker } from "./waiting-server.ts";
import type { WaitingProcess, WaitingWorld } from "./waiting-world.ts";

/** How often a task may be looked at, in virtual milliseconds. */
const intervalMs = 1_000;

interface Task {
  readonly call: WaitingCallPlan;
  readonly endsAt: number;
  /** How many of its questions have an answer. */
  answered: number;
  lookedAt: number;
  answer?: object;
  isCancelled?: boolean;
  /** Who has sent an answer of which it does not know whether it came. */
  mayLookAtOnce?: string | undefined;
}

/** The tasks of a server of 2026-07-28, which keeps them for a while. */
export function createTasks(
  world: WaitingWorld,
  finish: (call: WaitingCallPlan, process: WaitingProcess) => object,
) {
  const { scheduler, violate, count, plan } = world;
  const isSkewed = plan.actors.some(({ clockAheadMs }) => clockAheadMs !== 0);
  const tasks = new Map<string, Task>();

  const describe = (taskId: string, task: Task) => {
    const { call, answered, endsAt, answer } = task;
    const isAsking = answered < call.rounds.length && scheduler.now() >= endsAt;
    const serial = `${call.nonce}/${answered + 1}`;
    const requestedSchema = { type: "object", properties: { serial: { type: "string" } } };
    const params = { message: serial, requestedSchema };
    return {
      ...{ taskId, ttlMs: null, pollIntervalMs: intervalMs },
      ...(task.isCancelled ? { status: "cancelled" } : { status: "working" }),
      ...(isAsking && {
        status: "input_required",
        inputRequests: { [`ask-${answered}`]: { method: "elicitation/create", params } },
      }),
      ...(answer && { status: "error" in answer ? "failed" : "completed", ...answer }),
    };
  };
  const answerTo = (process: WaitingProcess, method: string, params: any): object => {
    const task = tasks.get(params.taskId);
    if (task === undefined) return { error: { code: -32_602, message: "No such task." } };
    if (method === "tasks/update") {
      count("waiting: task answered");
      const [key] = Object.keys(params.inputResponses);
      const serial = params.inputResponses[key!]?.content?.serial as string;
      if (!serial?.startsWith(`${task.call.nonce}/`))
        violate("same-call", `${process.name} answered another task's question`);
      if (key === `ask-${task.answered}`) task.answered += 1;
      return { result: { resultType: "complete" } };
    }
    count("waiting: task looked at");
    const isEarly = scheduler.now() - task.lookedAt < intervalMs;
    const mayLook = task.mayLookAtOnce === process.name;
    if (isEarly && !mayLook && !isSkewed)
      violate("look-due", `${process.name} looked at ${task.call.nonce} too early`);
    task.lookedAt = scheduler.now();
    task.mayLookAtOnce = undefined;
    const isDone = task.answered >= task.call.rounds.length && scheduler.now() >= task.endsAt;
    if (isDone) task.answer ??= finish(task.call, process);
    return { result: { resultType: "complete", ...describe(params.taskId, task) } };
  };
  return {
    answerTo,
    /** Notes that an answer is on its way: whoever does not hear that it came may look at once. */
    sending({ name }: WaitingProcess, { method, params }: any) {
      const task = method === "tasks/update" ? tasks.get(params.taskId) : undefined;
      if (task) task.mayLookAtOnce = name;
    },
    /** Makes a task of a call. */
    begin(call: WaitingCallPlan): object {
      const taskId = `${stateMarker} task ${tasks.size}`;
      const now = scheduler.now();
      const task = { call, endsAt: now + call.taskMs!, answered: 0, lookedAt: now };
      tasks.set(taskId, task);
      count("waiting: task made");
      return { result: { resultType: "task", ...describe(taskId, task) } };
    },
  };
}
