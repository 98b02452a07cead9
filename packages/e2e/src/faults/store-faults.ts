import type { ConnectionRun } from "@durable-mcp/ai-sdk";
import { McpSessionError } from "@durable-mcp/core";
import { availableStores, skippedStores, storeNames } from "./available-stores.ts";
import type { Chat, StepReport } from "./chat.ts";
import type { Family, Fault, Round } from "./fault.ts";
import { moments, type Moment, type StoreAct } from "./store-at-fault.ts";
import { openStoreWorld, type StoreWorld } from "./store-world.ts";
import type { NetworkMode } from "./tcp-proxy.ts";
import { shortTimes, waitsAfterLoss } from "./waits.ts";

interface StoreFault {
  readonly name: string;
  /** What happens to the operations of the store. */
  readonly act: (world: StoreWorld) => StoreAct;
  readonly heal?: (world: StoreWorld) => Promise<void>;
  /** When the step must not notice more than that the store is slow. @default never */
  readonly harmlessAt?: readonly Moment[] | undefined;
}

/** In turn while a step loads, saves its new session, ends, and replaces a lost session. */
function storeFault(fault: StoreFault): Fault<StoreWorld> {
  return {
    name: fault.name,
    async round(round, world) {
      const moment = moments[round.number % moments.length]!;
      // What is counted afterwards is of this round.
      await world.server.forget();
      const waits = moment === "replacement" ? waitsAfterLoss(shortTimes) : undefined;
      const { store } = world.atFault;
      const chat = round.chat({ url: world.front.url, store, waits });
      const heal = async () => {
        world.atFault.heal();
        await fault.heal?.(world);
        await world.untilWell();
      };
      try {
        const report = await roundsAt[moment](chat, world, fault.act(world), heal);
        // Of a store that was not asked for anything there is nothing to say.
        if (world.atFault.met() === 0) round.fault(`${moment}: no operation met the fault`);
        else if (!fault.harmlessAt?.includes(moment)) judgeReport(round, moment, chat, report);
      } finally {
        await heal();
      }
      await chat.step({ calls: 1, isHealthy: true, reads: true });
      const { sessions } = await world.server.stats();
      if (sessions !== 1)
        round.fault(`${moment}: ${sessions} sessions on the server, for one chat`);
    },
  };
}

type RoundAt = (
  chat: Chat,
  world: StoreWorld,
  act: StoreAct,
  heal: () => Promise<void>,
) => Promise<StepReport>;

const roundsAt: Record<Moment, RoundAt> = {
  async load(chat, { atFault }, act) {
    await chat.step({ calls: 2, isHealthy: true });
    atFault.failAt("get", act);
    return await chat.step({ calls: 2 });
  },
  async save(chat, { atFault }, act) {
    atFault.failAt("put", act);
    return await chat.step({ calls: 2 });
  },
  async end(chat, { atFault }, act) {
    return await chat.step({
      calls: 2,
      isHealthy: true,
      opened: outdateTools,
      ending: () => atFault.failAt("put", act),
    });
  },
  async replacement(chat, { atFault, server }, act, heal) {
    await chat.step({ calls: 2, isHealthy: true });
    await server.forget();
    return await chat.step({
      calls: 2,
      opened: () => atFault.failAt("put", act),
      ending: heal,
    });
  },
};

/** Makes the step's tool list outdated, which it writes at its end: the server does not know the tool. */
async function outdateTools(registry: ConnectionRun<any>): Promise<void> {
  await registry.call("notes", "unknown");
}

/** What the application has to be told of the store. */
function judgeReport(round: Round, moment: Moment, chat: Chat, { events, refused }: StepReport) {
  const found = (text: string) => round.fault(`${moment}: ${text}`);
  if (events.some(({ type }) => type === "unavailable")) found("the MCP server was blamed");
  if (moment === "load" || moment === "save") {
    if (!McpSessionError.isInstance(refused) || refused.code !== "STORE_FAILED") {
      return found(`the step began without its store, or told another word: ${String(refused)}`);
    }
    const isRead = moment === "load";
    if (isRead && refused.message.includes("may have been")) found(`of a read: ${refused.message}`);
  }
  if (moment === "end" && !events.some(({ type }) => type === "store-failed")) {
    found("silent: nothing was said of a store that failed at the end");
  }
  if (moment === "replacement") {
    const answered = chat.calls.filter(
      ({ step, outcome }) => step === 2 && outcome.type === "answered",
    );
    if (answered.length > 0) found("a call was made in a session that nobody had saved");
  }
}

function network(kind: string, what: string, mode: NetworkMode, harmlessAt?: readonly Moment[]) {
  return storeFault({
    name: `${kind}: ${what}`,
    harmlessAt,
    act: (world) => async (operation) => {
      await world.network.setMode(mode);
      return await operation();
    },
    heal: (world) => world.network.setMode("pass"),
  });
}

const networkFaults = (kind: string) => [
  network(kind, "delays of 20 ms each way", "delay", moments),
  network(kind, "packets dropped", "drop"),
  network(kind, "answers dropped", "drop answers"),
  network(kind, "connections reset", "reset"),
  network(kind, "connections reset at the answer", "reset answers"),
  network(kind, "connections refused", "refuse"),
];

export const storeFamily: Family = {
  name: "store",
  rounds: 8,
  groups: availableStores
    .filter((kind) => kind !== "sqlite")
    .map((kind) => ({
      openWorld: () => openStoreWorld(kind),
      faults: networkFaults(storeNames[kind]),
    })),
  skipped: skippedStores,
};
