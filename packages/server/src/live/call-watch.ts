import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import type { Mailbox } from "../streams/mailbox.ts";
import type { StoredSession } from "../records/stored-session.ts";
import type { Waker } from "../streams/waker.ts";

export interface CallWatchOptions {
  readonly hash: string;
  readonly instance: string;
  readonly stored: StoredSession;
  readonly mailbox: Mailbox;
  readonly waker: Waker;
  readonly pollIntervalMs: number;
  /** Aborts when the live session closes. */
  readonly closed: AbortSignal;
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
 * @returns starts it, if it does not run; it ends when no call runs
 */
export function createCallWatch(options: CallWatchOptions): () => void {
  const { hash, instance, stored, mailbox, waker, pollIntervalMs, closed } = options;
  const isOver = () => !options.isBusy() || closed.aborted;
  let isWatching = false;

  async function watch(): Promise<void> {
    while (!isOver()) {
      await waker.wait(instance, pollIntervalMs, closed);
      if (isOver()) return;
      for (const message of await mailbox.take(hash, instance)) options.receive(message);
      if (!(await stored.load())) return options.onGone();
      await stored.renew();
    }
  }

  return () => {
    if (isWatching) return;
    isWatching = true;
    void (async () => {
      // A failure is the store's, and told there; the next round tries again.
      while (!isOver()) await watch().catch(() => {});
      isWatching = false;
    })();
  };
}
