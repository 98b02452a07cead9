import type { Calls } from "./rounds.ts";
import type { RunningServer } from "./running-servers.ts";
import type { SessionCaller } from "./session-caller.ts";
import type { ServerName } from "./server-kinds.ts";

/** How a server became warm. CPU is for one call, of the server's process. */
export interface WarmUp {
  readonly server: ServerName;
  readonly callers: number;
  readonly tool: string;
  readonly calls: number;
  /** In the first window. */
  readonly coldMicroseconds: number;
  /** In the last window. */
  readonly warmMicroseconds: number;
  /** Whether the last two windows were alike. Otherwise its figures still contain its compiler. */
  readonly isFlat: boolean;
}

export interface WarmUpBounds {
  /** Of one window. */
  readonly calls: number;
  /** The fewest windows of a new process: two of the first may be alike while the compiler waits for its turn. */
  readonly fewest: number;
  readonly most: number;
}

/** Two windows are alike when they differ by less than this share. */
const alikeWithin = 0.03;
/** Longer is not worth the wait: a server as slow as that waits for its disk. */
const longestMs = 20_000;

/**
 * Calls a server without measuring it, until its compiler is done: until a call takes as much CPU in one window as in the
 * window before. The SDK's transport takes twice as much after 5,000 calls as after 30,000, and with one caller it compiles
 * anew what it has compiled with many.
 */
export async function warmUp(
  { name, callers: all, figures }: RunningServer,
  { tool, callers }: Calls,
  { calls, fewest, most }: WarmUpBounds,
): Promise<WarmUp> {
  const taken: number[] = [];
  const end = performance.now() + longestMs;
  let made = 0;
  const isFlat = () => {
    const [before = 0, last = 0] = taken.slice(-2);
    return taken.length >= Math.max(2, fewest) && Math.abs(last - before) < alikeWithin * before;
  };
  while (taken.length < most && !isFlat() && performance.now() < end) {
    const [before, madeBefore] = [await figures(), made];
    const callSome = async (caller: SessionCaller) => {
      while (made - madeBefore < calls && performance.now() < end) {
        made += 1;
        await caller.call(tool);
      }
    };
    await Promise.all(all.slice(0, callers).map(callSome));
    const after = await figures();
    taken.push((after.cpuMicroseconds - before.cpuMicroseconds) / (made - madeBefore));
  }
  return {
    ...{ server: name, callers, tool, calls: made, isFlat: isFlat() },
    ...{ coldMicroseconds: taken[0]!, warmMicroseconds: taken.at(-1)! },
  };
}
