import { randomFromSeed } from "../replicas/random-from-seed.ts";
import type { Chat } from "./chat.ts";
import type { Family, Fault, FaultGroup, World } from "./fault.ts";
import { describe, judgeCall, judgeChat, type Verdict } from "./judge.ts";
import { createChat } from "./run-step.ts";
import { nearerToLimit, type Wait } from "./waits.ts";

/** What became of one fault. */
export interface FaultRow {
  readonly family: string;
  readonly name: string;
  rounds: number;
  calls: number;
  answered: number;
  refused: number;
  unknown: number;
  /** What must not be: one line each. */
  readonly faults: string[];
  /** The wait that came nearest to its limit. */
  wait: Wait | undefined;
}

export interface FamilyOptions {
  /** Of each fault. @default the family's own */
  readonly rounds?: number | undefined;
  readonly seed: number;
  /** Only faults whose names have this in them. @default all */
  readonly only?: string | undefined;
  readonly onRow?: (row: FaultRow) => void;
}

/** Runs every fault of a family, several at once, each in a world of its own. */
export async function runFamily(family: Family, options: FamilyOptions): Promise<FaultRow[]> {
  const groups = family.groups.map((group) => prepareGroup(family, group, options));
  const closings: (() => Promise<void>)[] = [];
  try {
    // No round begins while programs start, which take all of a small machine.
    const lanes = groups.flatMap(({ opening }) => opening);
    const opened = await Promise.allSettled(lanes.map((open) => open()));
    const runs: (() => Promise<void>)[] = [];
    for (const outcome of opened) {
      if (outcome.status === "rejected") throw outcome.reason;
      closings.push(outcome.value.close);
      runs.push(outcome.value.run);
    }
    await Promise.all(runs.map((run) => run()));
  } finally {
    await Promise.all(closings.map((close) => close()));
  }
  return groups.flatMap(({ rows }) => rows);
}

function prepareGroup<WORLD extends World>(
  family: Family,
  { openWorld, worlds = 1, faults }: FaultGroup<WORLD>,
  { rounds = family.rounds, seed, only = "", onRow }: FamilyOptions,
) {
  const chosen = faults.filter(({ name }) => name.includes(only));
  const rows: FaultRow[] = [];
  const next = chosen.entries();
  const run = async (world: WORLD) => {
    for (const [index, fault] of next) {
      const row = await runFault(family.name, fault, world, rounds, seed);
      rows[index] = row;
      onRow?.(row);
    }
  };
  const open = async () => {
    const world = await openWorld();
    return { close: world.close, run: () => run(world) };
  };
  return { rows, opening: Array.from({ length: Math.min(worlds, chosen.length) }, () => open) };
}

async function runFault<WORLD extends World>(
  family: string,
  fault: Fault<WORLD>,
  world: WORLD,
  rounds: number,
  seed: number,
): Promise<FaultRow> {
  const counts = { rounds: 0, calls: 0, answered: 0, refused: 0, unknown: 0 };
  const row: FaultRow = { family, name: fault.name, ...counts, faults: [], wait: undefined };
  for (let number = 0; number < rounds; number += 1) {
    const chats: Chat[] = [];
    const found: string[] = [];
    const random = randomFromSeed(seed + number);
    const chat = (options: Omit<Chat["options"], "id">) => {
      const id = `${family} ${fault.name} ${seed} ${number} ${chats.length}`;
      const made = createChat({ ...options, id });
      chats.push(made);
      return made;
    };
    try {
      await fault.round({ number, random, chat, fault: (text) => found.push(text) }, world);
    } catch (error) {
      found.push(`the round itself failed: ${describe(error)}`);
    }
    row.rounds += 1;
    for (const each of chats) found.push(...judge(row, each, world));
    row.faults.push(...found.map((text) => `${family}, ${fault.name}, round ${number}: ${text}`));
  }
  return row;
}

function judge(row: FaultRow, chat: Chat, world: World): string[] {
  const found: string[] = [];
  for (const call of chat.calls) {
    const { verdict, fault } = judgeCall(call, world.evidence);
    row.calls += 1;
    if (verdict !== "fault") row[verdict satisfies Exclude<Verdict, "fault">] += 1;
    if (fault !== undefined) found.push(`step ${call.step}: ${fault}`);
  }
  for (const wait of chat.waits) row.wait = nearerToLimit(row.wait, wait);
  return [...found, ...judgeChat(chat)];
}
