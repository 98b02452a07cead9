import { type Principal, principalParts } from "@durable-mcp/core";
import { setBounded } from "@durable-mcp/core/internal";
import type { Centre } from "./upstreams.ts";

/** What a count says holds for this long, in milliseconds. Other processes begin sessions, too. */
const countedMs = 60_000;
const maxPrincipals = 10_000;

/** Bounds the sessions of a principal, without counting them for each that begins. */
export function createSessionLimit({ sessions, now }: Centre, limit: number) {
  const rooms = new Map<string, Promise<{ left: number; readonly until: number }>>();
  /** Those that begin now, which may not stand in the store. */
  const beginning = new Map<string, number>();
  const count = async (principal: Principal, key: string) => {
    const begun = beginning.get(key) ?? 0;
    const { sessions: own } = await sessions.list({ principal, limit });
    return { left: limit - own.length - begun, until: now() + countedMs };
  };
  /** Begins a session. @returns `undefined` without room for it */
  return async <RESULT>(principal: Principal, begin: () => Promise<RESULT>) => {
    const key = JSON.stringify(principalParts(principal));
    const known = rooms.get(key);
    let room = await known?.catch(() => undefined);
    if (room === undefined || room.left <= 0 || room.until < now()) {
      // One counts for all that ask at once.
      if (rooms.get(key) === known) setBounded(rooms, key, count(principal, key), maxPrincipals);
      room = await rooms.get(key)!;
    }
    if (room.left <= 0) return undefined;
    room.left -= 1;
    beginning.set(key, (beginning.get(key) ?? 0) + 1);
    return await begin().finally(() => {
      const others = beginning.get(key)! - 1;
      if (others > 0) beginning.set(key, others);
      else beginning.delete(key);
    });
  };
}
