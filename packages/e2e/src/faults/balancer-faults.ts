import { createMemoryStore } from "@durable-mcp/core";
import {
  type BalancerWorld,
  createStickyBalancer,
  only,
  openBalancerWorld,
  roundRobin,
  type StickyBalancer,
} from "./balancer-world.ts";
import type { Chat, ChatOptions } from "./chat.ts";
import type { Family, Fault } from "./fault.ts";
import { shortTimes, waitsAfterLoss } from "./waits.ts";

type Work = (
  chats: readonly Chat[],
  world: BalancerWorld,
  round: { random: () => number },
) => Promise<void>;

/** Two chats behind a balancer. */
function balancerFault(
  name: string,
  work: Work,
  options: Partial<ChatOptions> = {},
): Fault<BalancerWorld> {
  return {
    name,
    async round(round, world) {
      const { front } = world;
      const store = round.number % 2 === 0 ? createMemoryStore() : undefined;
      const common = { url: front.url, store, waits: waitsAfterLoss(shortTimes) };
      const chats = [0, 1].map(() => round.chat({ ...common, ...options }));
      try {
        await work(chats, world, round);
        await each(chats, (chat) => chat.step({ calls: 1, isHealthy: true, reads: true }));
      } finally {
        front.setGuard(undefined);
        front.heal();
      }
    },
  };
}

async function each(chats: readonly Chat[], use: (chat: Chat) => Promise<unknown>): Promise<void> {
  await Promise.all(chats.map(use));
}

/** Every request somewhere else, step after step; in the end there is one replica only. */
const spread: Work = async (chats, world, { random }) => {
  world.front.setGuard(roundRobin(world));
  for (let step = 1; step <= 3; step += 1) {
    const atOnce = random() < 0.5;
    await each(chats, (chat) => chat.step({ calls: 3, atOnce }));
  }
  world.front.setGuard(only(world, 0));
};

interface Happening {
  /** While steps are open. */
  readonly begins: (world: BalancerWorld, balancer: StickyBalancer) => Promise<void> | void;
  /** When they have ended. */
  readonly ends?: (world: BalancerWorld) => Promise<void>;
}

/** A session is where it is; then something happens to its replica. */
function sticky({ begins, ends }: Happening): Work {
  return async (chats, world, { random }) => {
    const balancer = createStickyBalancer(world);
    world.front.setGuard(balancer.rule);
    const atOnce = random() < 0.5;
    await each(chats, (chat) => chat.step({ calls: 2, isHealthy: true }));
    let beginning: Promise<void> | undefined;
    const opened = () => (beginning ??= Promise.resolve(begins(world, balancer)));
    await each(chats, (chat) => chat.step({ calls: 3, atOnce, opened }));
    await ends?.(world);
    await each(chats, (chat) => chat.step({ calls: 2, isHealthy: true }));
  };
}

/** For as long as a step lasts, the balancer sends nothing on. */
const draining = (status: number): Work => {
  return async (chats, world) => {
    const { rule } = createStickyBalancer(world);
    world.front.setGuard(rule);
    await each(chats, (chat) => chat.step({ calls: 2, isHealthy: true }));
    world.front.setGuard(undefined);
    const fault = world.front.refuse(status, { on: "*" });
    await each(chats, (chat) => chat.step({ calls: 2 }));
    fault.heal();
    world.front.setGuard(rule);
    await each(chats, (chat) => chat.step({ calls: 2, isHealthy: true }));
  };
};

const shareNothing: Fault<BalancerWorld>[] = [
  balancerFault("two replicas in turn", spread),
  balancerFault("two replicas in turn, with a retry", spread, {
    session: { mode: "stateful", onLoss: "retry" },
  }),
  balancerFault(
    "sticky, a replica is killed, 502 to its sessions",
    sticky({
      begins: ({ replicas }) => replicas[0]!.kill(),
      ends: ({ replicas }) => replicas[0]!.restart(),
    }),
  ),
  balancerFault(
    "sticky, a replica is taken out, its sessions go elsewhere",
    sticky({ begins: (_, balancer) => balancer.takeOut(1) }),
  ),
  balancerFault("502 while a deploy drains", draining(502), { keepsSession: true }),
  balancerFault("503 while a deploy drains", draining(503), { keepsSession: true }),
  balancerFault("404 while a deploy drains", draining(404), { keepsSession: true }),
];

const adopting: Fault<BalancerWorld>[] = [
  balancerFault("two replicas in turn that adopt unknown ids", spread, { keepsNothing: true }),
  balancerFault(
    "servers that adopt unknown ids are restarted",
    sticky({
      async begins({ replicas }) {
        await Promise.all(replicas.map((replica) => replica.restart()));
      },
    }),
  ),
  balancerFault(
    "sticky, a replica is taken out, the other adopts",
    sticky({ begins: (_, balancer) => balancer.takeOut(1) }),
  ),
];

export const balancerFamily: Family = {
  name: "balancer",
  rounds: 10,
  groups: [
    { openWorld: () => openBalancerWorld("notebook", 2), faults: shareNothing },
    {
      openWorld: () => openBalancerWorld("notebook", 3),
      faults: [balancerFault("three replicas in turn", spread)],
    },
    { openWorld: () => openBalancerWorld("adopting", 2), faults: adopting },
  ],
  skipped: [],
};
