import type { Invariant } from "./invariant-model.ts";
import type { Random } from "./random.ts";
import type { Scheduler } from "./scheduler.ts";
import type { ActorPlan, WaitingFaultRates, WaitingPlan } from "./waiting-plan.ts";

/** What everything in a schedule of waiting calls shares. */
export interface WaitingWorld {
  readonly plan: WaitingPlan;
  readonly random: Random;
  readonly scheduler: Scheduler;
  readonly count: (name: string) => void;
  readonly violate: (invariant: Invariant, message: string) => void;
  /** Whether a fault befalls an operation of this process. */
  readonly strikes: (process: WaitingProcess, fault: keyof WaitingFaultRates) => boolean;
}

/** A process that may die between any two turns of its own. */
export interface WaitingProcess extends Pick<
  ActorPlan,
  "name" | "kind" | "principal" | "clockAheadMs"
> {
  /** Whether the world is kind to it, as at the end of a schedule. */
  readonly isSafe: boolean;
  /** How many legs servers took from it, by the call's nonce. */
  readonly legsTaken: Map<string, number>;
  /** A turn of the process. It never comes for a dead one. */
  readonly turn: (label: string) => Promise<void>;
  readonly sleep: (ms: number) => Promise<void>;
  readonly died: Promise<void>;
}

export function createWaitingProcess(
  { name, kind, principal, clockAheadMs, diesAt }: ActorPlan,
  { scheduler, count }: Pick<WaitingWorld, "scheduler" | "count">,
  isSafe = false,
): WaitingProcess {
  const { promise: died, resolve: die } = Promise.withResolvers<void>();
  let turns = 0;
  let isDead = false;
  const live = async () => {
    if (isDead) await new Promise(() => undefined);
  };
  return {
    ...{ name, kind, principal, clockAheadMs, isSafe, died, legsTaken: new Map() },
    async turn(label) {
      await live();
      turns += 1;
      if (turns === diesAt) {
        isDead = true;
        count("waiting: process died");
        die();
      }
      await live();
      await scheduler.turn(`${name} ${label}`);
      await live();
    },
    async sleep(ms) {
      if (ms === 0) return;
      await new Promise<void>((resolve) => void scheduler.setTimer(resolve, ms));
      await live();
    },
  };
}
