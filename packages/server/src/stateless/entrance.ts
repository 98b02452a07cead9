import { once } from "../base/once.ts";
import type { HandlerContext } from "../context/handler-context.ts";
import { PoolFull } from "../live/live-pool.ts";
import type { Caller } from "../live/session-directory.ts";

/** The principal has too many requests in flight. */
export class TooManyOfPrincipal extends Error {}

/** Counts the requests in flight. @returns counts one less, once */
export function createEntrance({
  requestsPerPrincipal,
  liveSessions,
}: HandlerContext["settings"]["limits"]): (caller: Caller) => () => void {
  const counts = new Map<string, number>();
  let all = 0;
  return ({ owner, principal }) => {
    if (all >= liveSessions) throw new PoolFull("No room for another request.");
    const count = counts.get(owner) ?? 0;
    if (principal.type !== "anonymous" && count >= requestsPerPrincipal) {
      throw new TooManyOfPrincipal();
    }
    all += 1;
    counts.set(owner, count + 1);
    return once(() => {
      all -= 1;
      const left = counts.get(owner)! - 1;
      if (left > 0) counts.set(owner, left);
      else counts.delete(owner);
    });
  };
}
