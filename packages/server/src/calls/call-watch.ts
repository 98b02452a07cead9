import { detach } from "@durable-mcp/core/internal";
import type { JSONRPCMessage, RequestId } from "../base/mcp-types.ts";
import type { SessionRecord } from "../records/session-record.ts";
import { newestOf, renewAfter } from "../records/session-record.ts";
import type { LiveContext } from "../context/handler-context.ts";

export interface CallWatchOptions {
  readonly receive: (message: JSONRPCMessage) => void;
  /** The calls among these, which the client cancelled at another replica. */
  readonly cancelledElsewhere: (
    cancelled: NonNullable<SessionRecord["cancelled"]>,
  ) => readonly RequestId[];
  /** Looks at the tasks that run in the session's server. */
  readonly lookAtTasks: () => Promise<void>;
  /** The session has ended elsewhere. */
  readonly onGone: () => void;
}

/**
 * Follows the session while calls run for long: takes the client's messages for them that reached
 * another replica, notices the end of the session, and counts the calls as its use.
 *
 * @returns tells it whether calls run
 */
export function createCallWatch(
  { stored, instance, mailbox, signals, topic, settings, closed }: LiveContext,
  { receive, cancelledElsewhere, lookAtTasks, onGone }: CallWatchOptions,
): (isBusy: boolean) => void {
  const { timeouts } = settings;
  let starting: ReturnType<typeof setTimeout> | undefined;
  let stopping: AbortController | undefined;

  async function look(): Promise<void> {
    for (const message of await mailbox.take(stored.hash, instance)) receive(message);
    const record = await stored.load();
    if (!record) return onGone();
    for (const requestId of cancelledElsewhere(record.cancelled ?? [])) {
      const params = { requestId };
      receive({ jsonrpc: "2.0", method: "notifications/cancelled", params });
    }
    await lookAtTasks();
    await stored.renew();
  }

  async function watch(signal: AbortSignal): Promise<void> {
    const watching = signals.watch(topic);
    try {
      while (!signal.aborted && !closed.aborted) {
        // The store has emitted its failure. Of what was missed nobody tells again.
        const isSeen = await look().then(
          () => true,
          () => false,
        );
        await watching.next(isSeen ? renewAfter(timeouts) : timeouts.pollIntervalMs, signal);
      }
    } finally {
      watching.stop();
    }
  }

  function start(): void {
    starting = undefined;
    stopping = new AbortController();
    void watch(stopping.signal);
  }

  return (isBusy) => {
    if (isBusy) {
      // Most calls are over by then, and read nothing.
      starting = setTimeout(start, timeouts.pollIntervalMs);
      detach(starting);
      return;
    }
    clearTimeout(starting);
    stopping?.abort();
    stopping = undefined;
  };
}

/** Cancels requests that may be in flight on another replica. */
export async function cancelElsewhere(
  { stored, signals, topic }: LiveContext,
  requestIds: readonly RequestId[],
): Promise<void> {
  await stored.write({
    edit: (record) => {
      const change = record.changes + 1;
      const added = requestIds.map((id) => ({ id, change }));
      return { ...record, cancelled: newestOf([...(record.cancelled ?? []), ...added]) };
    },
  });
  signals.send(topic);
}

/** Tells whether a session is busy, for one of several reasons. */
export function createBusy(onChange: (isBusy: boolean) => void) {
  const reasons = new Set<string>();
  return (reason: "calls" | "tasks", isBusy: boolean): void => {
    const wasBusy = reasons.size > 0;
    if (isBusy) reasons.add(reason);
    else reasons.delete(reason);
    if (reasons.size > 0 !== wasBusy) onChange(!wasBusy);
  };
}
