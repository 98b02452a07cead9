import { once } from "../base/once.ts";
import type { EmitServerEvent } from "../base/server-event.ts";
import { fingerprint } from "../base/session-id.ts";
import type { LiveSession } from "./live-session.ts";

/** The sessions that have a server in this process. */
export interface LivePool {
  /**
   * The session's server, built if there is none. It stays until `release`.
   * @throws {PoolClosed} after `closeAll`, {@link PoolFull} when there is no room, and no idle server to close
   */
  use(hash: string, build: () => Promise<LiveSession>): Promise<UsedSession>;
  /** Closes a session's server, even while it is used. */
  close(hash: string): Promise<void>;
  /** Closes all, and takes no others from then on. */
  closeAll(): Promise<void>;
  /** The session's server, if there is one in this process. */
  find(hash: string): LiveSession | undefined;
  readonly hashes: string[];
  /** Calls, running tasks and listening streams of all sessions. */
  readonly uses: number;
}

export interface UsedSession {
  readonly live: LiveSession;
  readonly release: () => void;
}

/** There is no room for another live session. */
export class PoolFull extends Error {}

/** The pool was closed. */
export class PoolClosed extends Error {}

interface Entry {
  readonly live: Promise<LiveSession>;
  current?: LiveSession;
  /** Requests and streams that need it now. */
  uses: number;
}

function newEntry(live: Promise<LiveSession>): Entry {
  const entry: Entry = { live, uses: 0 };
  live.then(
    (current) => (entry.current = current),
    () => {},
  );
  return entry;
}

function firstIdle(entries: ReadonlyMap<string, Entry>): [string, Entry] | undefined {
  for (const named of entries) if (usesOf(named[1]) === 0) return named;
  return undefined;
}

function usesOf(entry: Entry): number {
  const { current } = entry;
  return entry.uses + (current ? current.messagesInFlight() + current.runningTasks() : 0);
}

/**
 * At most `maxSessions`; to make room, the idle server that was used longest ago is closed.
 * @param onUse called when the first server is there, and when the last is gone
 */
export function createLivePool(
  maxSessions: number,
  emit: EmitServerEvent,
  onUse: (isUsed: boolean) => void = () => {},
): LivePool {
  // A Map keeps the order of insertion: the first is the least recently used.
  const entries = new Map<string, Entry>();
  let isClosed = false;

  function remove(hash: string, entry: Entry): void {
    if (entries.get(hash) !== entry) return;
    entries.delete(hash);
    if (entries.size === 0) onUse(false);
  }

  async function close(hash: string, entry: Entry): Promise<void> {
    remove(hash, entry);
    const closed = entry.live
      .catch(() => undefined)
      .then((live) => live?.close())
      .catch((error: unknown) => emit({ type: "failed", error }));
    // A server that is still being built is closed once it is there, and nobody waits for that.
    if (entry.current) await closed;
  }

  function makeRoom(): void {
    if (entries.size < maxSessions) return;
    const idle = firstIdle(entries);
    if (!idle) throw new PoolFull("No room for another live session.");
    emit({ type: "closed", session: fingerprint(idle[0]) });
    void close(...idle);
  }

  function enter(hash: string, build: () => Promise<LiveSession>): Entry {
    if (isClosed) throw new PoolClosed("The pool was closed.");
    const known = entries.get(hash);
    if (known) {
      entries.delete(hash);
      entries.set(hash, known);
      return known;
    }
    makeRoom();
    const entry = newEntry(build());
    entries.set(hash, entry);
    if (entries.size === 1) onUse(true);
    return entry;
  }

  return {
    use: async (hash, build) => {
      const entry = enter(hash, build);
      entry.uses += 1;
      const release = once(() => (entry.uses -= 1));
      try {
        return { live: await entry.live, release };
      } catch (error) {
        release();
        remove(hash, entry);
        throw error;
      }
    },
    close: async (hash) => {
      const entry = entries.get(hash);
      if (entry) await close(hash, entry);
    },
    closeAll: async () => {
      isClosed = true;
      await Promise.all([...entries].map(([hash, entry]) => close(hash, entry)));
    },
    find: (hash) => entries.get(hash)?.current,
    get hashes() {
      return [...entries.keys()];
    },
    get uses() {
      return [...entries.values()].reduce((sum, entry) => sum + usesOf(entry), 0);
    },
  };
}
