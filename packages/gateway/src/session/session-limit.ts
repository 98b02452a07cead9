import { type Principal, principalParts } from "@durable-mcp/core";
import { setBounded } from "@durable-mcp/core/internal";
import type { Centre } from "./upstreams.ts";

/** What a count says holds for this long, in milliseconds. Other processes begin sessions, too. */
const countedMs = 60_000;
const maxPrincipals = 10_000;

/** Bounds the sessions of a principal, without counting them for each that begins. */
export function createSessionLimit({ sessions, now }: Centre, limit: number) {
  const rooms = new Map<string, { left: number; readonly until: number }>();
  return async (principal: Principal): Promise<boolean> => {
    const key = JSON.stringify(principalParts(principal));
    let room = rooms.get(key);
    if (room === undefined || room.left === 0 || room.until < now()) {
      const { sessions: own } = await sessions.list({ principal, limit });
      room = { left: limit - own.length, until: now() + countedMs };
      setBounded(rooms, key, room, maxPrincipals);
    }
    if (room.left <= 0) return false;
    room.left -= 1;
    return true;
  };
}
