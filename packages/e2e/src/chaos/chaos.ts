import { openStoreAt, startStorePlace, type StoreKind } from "../durable/store-place.ts";
import { randomFromSeed } from "../replicas/random-from-seed.ts";
import { type Action, type ChatPlan, liveThrough } from "./chat-life.ts";
import { kinds, startLabServers } from "./lab-servers.ts";
import type { Fault } from "./points.ts";
import { startPool } from "./process-pool.ts";

const processes = 3;

/** The whole schedule of a chat, which its seed gives. */
function planOf(seed: number, chat: string): ChatPlan {
  const random = randomFromSeed(seed);
  const below = (count: number) => Math.floor(random() * count);
  const one = <T>(all: readonly T[]): T => all[below(all.length)]!;
  const kind = one(kinds);
  const asks = random() < 0.5;
  const isMixed = (kind === "question" || kind === "sign-in") && random() < 0.2;
  const nested = one([undefined, undefined, "inherit", "isolate"] as const);
  const faults = ["fail", "502", "503", "504", "slow", "cut", "kill", "kill", "freeze"] as const;
  const fault = (): Fault => ({
    at: 1 + below(14),
    side: one(["before", "after"]),
    kind: one(faults),
  });
  let canFreeze = true;
  const common = () => {
    const by = below(processes);
    // What an older release does wrong is known.
    if (isMixed && random() < 0.4) return { by, isOlder: true };
    if (random() < 0.35) return { by };
    const met = fault();
    if (met.kind !== "freeze") return { by, fault: met };
    const isFrozen = canFreeze;
    canFreeze = false;
    return { by, fault: isFrozen ? met : { ...met, kind: "kill" as const } };
  };
  const action = (): Action => {
    const { by } = { by: below(processes) };
    const roll = random();
    if (roll < 0.2) return { ...common(), do: "write", calls: below(2) };
    if (roll < 0.3) return { ...common(), do: "again", isRenamed: false };
    if (roll < 0.5) return { ...common(), do: one(["look", "due"]) };
    if (roll < 0.72)
      return { ...common(), do: "answer", isDeclined: random() < 0.15, isTwice: random() < 0.3 };
    if (roll < 0.76) return { by, do: "withdraw" };
    if (roll < 0.84) return { by, do: "sign-in" };
    if (roll < 0.92) return { by, do: "pass", ms: one([2_000, 10_000, 150_000]) };
    const mode = one(["drop", "reset", "drop answers", "reset answers"] as const);
    return { by, do: "disturb", mode, ms: one([50, 300, 1_500]) };
  };
  const actions: Action[] = [{ ...common(), do: "write", calls: 1 + below(2) }];
  if (random() < 0.1 && !actions[0]!.isOlder)
    Object.assign(actions[0]!, { fault: { ...fault(), kind: "shutdown" } });
  // Equal calls of two tabs are two calls, as long as the claim of the first is.
  if (random() < 0.15)
    actions.push({ by: 0, do: "pass", ms: 150_000 }, { by: 1, do: "again", isRenamed: true });
  const count = 3 + below(6);
  while (actions.length < count) actions.push(action());
  return {
    use: {
      ...{ chat, kind, nested },
      record: one(["late", "first"]),
      whileWaiting: one(["reply", "reply", "hold", "withdraw"]),
      major: one([6, 7]),
      how: one(["generate", "stream"]),
      afterMs: one([0, 0, 200]),
    },
    work: { asks, afterMs: one([0, 50, 400]) },
    actions,
  };
}

export interface ChaosOptions {
  readonly store: StoreKind;
  readonly rounds: number;
  readonly seed: number;
  readonly lanes?: number;
  readonly onRound?: (round: number, faults: readonly string[]) => void;
}

/** Chats on a store, each with its own seed, whose processes, networks and requests fail at random. */
export async function runChaos({ store: kind, rounds, seed, lanes = 3, onRound }: ChaosOptions) {
  const violations: {
    readonly seed: number;
    readonly plan: ChatPlan;
    readonly faults: string[];
  }[] = [];
  const numbers = Array.from({ length: rounds }, (_, round) => round).values();
  let faults = 0;
  let steps = 0;
  const lane = async () => {
    const { remove, ...place } = await startStorePlace(kind);
    const { store, close } = await openStoreAt(place);
    const servers = await startLabServers(store);
    const pool = await startPool(place, processes);
    try {
      for (const round of numbers) {
        const plan = planOf(seed + round, `r${round}`);
        steps += plan.actions.length;
        faults += plan.actions.filter(({ fault }) => fault !== undefined).length;
        const found = await liveThrough(plan, servers, pool);
        found.push(...pool.crashes.splice(0));
        if (found.length > 0) violations.push({ seed: seed + round, plan, faults: found });
        onRound?.(round, found);
      }
    } finally {
      await pool.close();
      await servers.close();
      await close?.();
      await remove();
    }
  };
  await Promise.all(Array.from({ length: Math.min(lanes, rounds) }, lane));
  return { violations, steps, faults };
}
