import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import type { LiveContext } from "./handler-context.ts";

export interface CallWatchOptions {
  /** Whether calls run. */
  readonly isBusy: () => boolean;
  readonly receive: (message: JSONRPCMessage) => void;
  /** The session has ended elsewhere. */
  readonly onGone: () => void;
}

/**
 * Looks into the store while calls run: takes the client's messages for them that reached another
 * replica, notices the end of the session, and counts the calls as its use.
 *
 * @returns starts the watch, unless it runs; it ends when no call runs
 */
export function createCallWatch(
  { stored, instance, mailbox, waker, settings, closed }: LiveContext,
  { isBusy, receive, onGone }: CallWatchOptions,
): () => void {
  const isOver = () => !isBusy() || closed.aborted;
  let isWatching = false;

  async function watch(): Promise<void> {
    while (!isOver()) {
      await waker.wait(instance, settings.timeouts.pollIntervalMs, closed);
      if (isOver()) return;
      for (const message of await mailbox.take(stored.hash, instance)) receive(message);
      if (!(await stored.load())) return onGone();
      await stored.renew();
    }
  }

  return () => {
    if (isWatching) return;
    isWatching = true;
    void (async () => {
      // The store has emitted its failure; the next round tries again.
      while (!isOver()) await watch().catch(() => {});
      isWatching = false;
    })();
  };
}
