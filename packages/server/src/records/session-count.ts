import type { SessionStore } from "@durable-mcp/core";
import type { HandlerSettings } from "../base/settings.ts";
import { storeKeyPrefix } from "./store-key.ts";

/** Counts the sessions, or the tasks, of each owner against a limit. */
export interface SessionCount {
  /** Whether the owner may start no further session. */
  readonly isFull: (owner: string) => Promise<boolean>;
  readonly started: (owner: string) => void;
  /** One of the owner's sessions was ended: the next question is asked of the store. */
  readonly ended: (owner: string) => void;
}

interface Known {
  count: number;
  readonly until: number;
}

/** How long a count of the store is relied on, in milliseconds; sessions that start here are added to it. */
const trustedMs = 10_000;
/** A refusal is relied on for less long, because sessions may end elsewhere. */
const refusedMs = 1_000;
const maxOwners = 10_000;

/**
 * A count lists the owner's sessions, so it is made once in a while and not for each session. Sessions
 * that other processes start meanwhile are missing in it, so that each process may let through as many
 * as the limit allows, until it counts again.
 */
export function createSessionCount(
  store: SessionStore,
  { name, now, limits }: HandlerSettings,
  kind: "session" | "task" = "session",
): SessionCount {
  const limit = kind === "task" ? limits.tasksPerPrincipal : limits.sessionsPerPrincipal;
  const prefix = storeKeyPrefix(name, kind);
  const owners = new Map<string, Known>();

  async function countStored(owner: string): Promise<number> {
    let count = 0;
    let cursor: string | undefined;
    do {
      const rest = Math.min(1_000, limit - count);
      const page = await store.list({ prefix, owner, cursor, limit: rest });
      count += page.records.length;
      ({ cursor } = page);
    } while (cursor !== undefined && count < limit);
    return count;
  }

  async function countAnew(owner: string): Promise<Known> {
    const count = limit === 0 ? 0 : await countStored(owner);
    const known = { count, until: now() + (count < limit ? trustedMs : refusedMs) };
    owners.delete(owner);
    owners.set(owner, known);
    if (owners.size > maxOwners) owners.delete(owners.keys().next().value!);
    return known;
  }

  return {
    isFull: async (owner) => {
      const known = owners.get(owner);
      const isFresh = known !== undefined && known.until > now();
      return (isFresh ? known : await countAnew(owner)).count >= limit;
    },
    started: (owner) => {
      const known = owners.get(owner);
      if (known) known.count += 1;
    },
    ended: (owner) => void owners.delete(owner),
  };
}
