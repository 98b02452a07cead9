import type { Random } from "./random.ts";

/** Timers up to this long, in milliseconds, may fire while messages are still on their way. */
const shortTimerMs = 1_000;
/** More turns than any schedule needs: something goes round in circles. */
const maxTurns = 20_000;

/**
 * Decides in which order everything happens. Whoever would wait for the network, for a store or
 * for a timer waits for a turn instead, and the seeded randomness says whose turn is next.
 */
export interface Scheduler {
  /** The clock, in milliseconds. It moves only when a timer fires. */
  readonly now: () => number;
  /** What happened so far, a line for each turn. */
  readonly trace: string[];
  /** Waits for a turn. The label goes into the trace. */
  readonly turn: (label: string) => Promise<void>;
  /** Waits for so many turns, in which nothing happens. */
  readonly turns: (count: number) => Promise<void>;
  /** A virtual timer; `cancel` takes it away. */
  setTimer(run: () => void, ms: number): { cancel(): void };
  /**
   * Gives turns until none waits and `isOver`.
   *
   * @param afterTurn called when everything that a turn set off has come to rest
   * @returns "stuck" when it is not over and nothing could happen any more
   */
  run(isOver: () => boolean, afterTurn: () => void): Promise<"over" | "stuck" | "endless">;
}

// Taken before anyone replaces it.
const { setImmediate } = globalThis;

/** Everything in core and in the simulation goes on by promises, so this is when it rests. */
const rest = () => new Promise<void>((resolve) => void setImmediate(resolve));

export function createScheduler(random: Random): Scheduler {
  const waiting: { label: string | undefined; go: () => void }[] = [];
  const timers: { due: number; ms: number; run: () => void }[] = [];
  const trace: string[] = [];
  let now = 1_800_000_000_000;

  const takeFirstTimer = () => {
    let first = 0;
    for (const [index, timer] of timers.entries())
      if (timer.due < timers[first]!.due) first = index;
    return timers.splice(first, 1)[0]!;
  };

  const fire = () => {
    const timer = takeFirstTimer();
    now = Math.max(now, timer.due);
    trace.push(`timer of ${timer.ms} ms`);
    timer.run();
  };

  const wait = (label: string | undefined) =>
    new Promise<void>((go) => {
      waiting.push({ label, go });
    });

  return {
    now: () => now,
    trace,
    turn: wait,
    async turns(count) {
      for (let index = 0; index < count; index += 1) await wait(undefined);
    },
    setTimer(run, ms) {
      const timer = { due: now + ms, ms, run };
      timers.push(timer);
      return {
        cancel: () => {
          const index = timers.indexOf(timer);
          if (index !== -1) timers.splice(index, 1);
        },
      };
    },
    async run(isOver, afterTurn) {
      await rest();
      afterTurn();
      for (let count = 0; count < maxTurns; count += 1) {
        if (waiting.length === 0) {
          if (isOver()) return "over";
          if (timers.length === 0) return "stuck";
          fire();
        } else {
          const isShort = timers.some(({ ms, due }) => ms <= shortTimerMs || due <= now);
          const choice = random.below(waiting.length + (isShort ? 1 : 0));
          if (choice === waiting.length) fire();
          else {
            const next = waiting[choice]!;
            const last = waiting.pop()!;
            if (last !== next) waiting[choice] = last;
            if (next.label !== undefined) trace.push(next.label);
            next.go();
          }
        }
        await rest();
        afterTurn();
      }
      return "endless";
    },
  };
}
