import { randomName } from "../base/session-id.ts";
import type { JSONRPCMessage, RequestId } from "../base/mcp-types.ts";
import type { QueuedMessage, TaskMessageQueue } from "../base/task-types.ts";
import { withInstanceIds } from "../base/instance-ids.ts";
import { isLostAfter } from "../streams/lost-calls.ts";
import type { TaskContext } from "./task-context.ts";
import { type Sent, type StoredMessage, type TaskRecord } from "./task-record.ts";

/** Messages that wait for one task at most. */
const maxMessages = 100;

/**
 * A `TaskMessageQueue` of SDK v1 in the tasks' records. A question stays there until it is answered, and
 * names the live session that asked: its answer finds it from any replica, and no other takes it.
 */
export function createTaskQueue(context: TaskContext): TaskMessageQueue {
  const { tasks, running, settings, hash, instance, callOf, holdCall } = context;

  return {
    enqueue: async (taskId, queued, _sessionId, maxSize = maxMessages) => {
      const { type, message, timestamp } = queued;
      // A client's request that named a task. SDK v1 would take it for the answer to a question of ours.
      if (type === "response" || type === "error") {
        return await context.answer(message.id as RequestId, message);
      }
      const named = withInstanceIds(message as JSONRPCMessage, instance);
      const name = type === "request" ? String((named as { id: RequestId }).id) : randomName();
      if (type === "request") running.questions.set(name, taskId);
      const added = { name, type, message: named, timestamp, session: hash };
      try {
        const { isChanged } = await tasks.edit(taskId, (record) => {
          const messages = [...record.messages, added];
          const isFull = messages.length > Math.min(maxSize, maxMessages);
          if (isFull || JSON.stringify(messages).length > settings.events.maxLength) {
            throw new Error("Too many messages wait for a tasks/result of this task's client.");
          }
          return { ...record, messages };
        });
        if (!isChanged) throw new Error("The task is over; no message can go to its client.");
      } catch (error) {
        running.questions.delete(name);
        throw error;
      }
    },

    dequeue: async (taskId): Promise<QueuedMessage | undefined> => {
      for (;;) {
        const record = await tasks.find(taskId);
        const waiting = record && (await firstWaiting(context, record));
        const held = waiting && (await holdCall());
        if (!held) return undefined;
        const { type, message, timestamp } = waiting;
        // Its client came back for the rest of the call that is over, so it has the message.
        const isKnown = waiting.sent && (await isLostAfter(context, hash, waiting.sent));
        const isTaken = await take(context, taskId, waiting, {
          ...held,
          ...(isKnown && { place: 0 }),
        });
        if (isTaken && !isKnown && !callOf()?.isOver) return { type, message, timestamp };
      }
    },

    // The end of a task removes them, and rejects its questions where they were asked.
    dequeueAll: async () => [],
  };
}

/** Whether a message waits for a `tasks/result`: nobody has sent it, or the call that did is over. */
async function isWaiting(
  { replica, hash }: TaskContext,
  { type, session, sent }: StoredMessage,
): Promise<boolean> {
  if (type === "request" && session !== hash) return false;
  if (!sent) return true;
  return (await replica.look(sent.replica, sent.name, sent.renewals)) !== "in-flight";
}

async function firstWaiting(
  context: TaskContext,
  { messages }: TaskRecord,
): Promise<StoredMessage | undefined> {
  for (const message of messages) if (await isWaiting(context, message)) return message;
  return undefined;
}

/** @returns whether nobody else took it meanwhile */
async function take(
  { tasks }: TaskContext,
  taskId: string,
  taken: StoredMessage,
  sent: Sent,
): Promise<boolean> {
  const { isChanged } = await tasks.edit(taskId, (record) => {
    const index = record.messages.findIndex(
      (each) => each.name === taken.name && each.sent?.name === taken.sent?.name,
    );
    if (index === -1) return undefined;
    const kept = taken.type === "request" ? [{ ...taken, sent }] : [];
    return { ...record, messages: record.messages.toSpliced(index, 1, ...kept) };
  });
  return isChanged;
}

/** A question was answered, or given up: it is removed, and nobody is asked any more. */
export function settleQuestion({ tasks, running }: TaskContext, question: RequestId): void {
  const taskId = running.questions.get(question);
  if (taskId === undefined) return;
  running.questions.delete(question);
  // The store has emitted its failure. Who is asked again gives an answer that is ignored.
  tasks
    .edit(taskId, (record) => {
      const messages = record.messages.filter(({ name }) => name !== question);
      if (messages.length === record.messages.length) return undefined;
      const isAsking =
        messages.some(({ type }) => type === "request") || record.task.status !== "input_required";
      const task = isAsking ? record.task : { ...record.task, status: "working" as const };
      return { ...record, messages, task };
    })
    .catch(() => {});
}
