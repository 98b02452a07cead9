import type { Chat, ChatOptions } from "./chat.ts";
import type { Evidence } from "./judge.ts";

/** Something that goes wrong while agents work, to be tried in rounds. */
export interface Fault<WORLD> {
  readonly name: string;
  /** Work while it goes wrong; each chat that it makes is judged when the round is over. */
  readonly round: (round: Round, world: WORLD) => Promise<void>;
}

export interface Round {
  /** From 0. */
  readonly number: number;
  /** From 0 to below 1, the same for the same seed. */
  readonly random: () => number;
  /** A new agent session. */
  readonly chat: (options: Omit<ChatOptions, "id">) => Chat;
  /** Notes what must not be, in one line. */
  readonly fault: (text: string) => void;
}

/** Real servers and stores, and what stands before them. One round at a time uses them. */
export interface World {
  readonly evidence: Evidence;
  readonly close: () => Promise<void>;
}

/** Faults that are tried in worlds of one kind. */
export interface FaultGroup<WORLD extends World = World> {
  readonly openWorld: () => Promise<WORLD>;
  /** How many worlds at once. @default 1 */
  readonly worlds?: number;
  readonly faults: readonly Fault<WORLD>[];
}

export interface Family {
  readonly name: string;
  /** Of each fault, unless the caller says otherwise. */
  readonly rounds: number;
  /** All at once. */
  readonly groups: readonly FaultGroup<any>[];
  /** What cannot be had on this machine, with the reason: one line each. */
  readonly skipped: readonly string[];
}
