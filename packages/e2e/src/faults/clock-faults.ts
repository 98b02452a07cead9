import {
  type ConnectionRun,
  createDurableSessions,
  defineMcpClientConnection,
} from "@durable-mcp/ai-sdk";
import type { SessionStore } from "@durable-mcp/core";
import { principal } from "../durable/notebook-sessions.ts";
import { openStoreAt, startStorePlace, type StoreKind } from "../durable/store-place.ts";
import { startSdkV2ModernOnlyServer } from "../servers/sdk-v2.ts";
import { availableStores, skippedStores, storeNames } from "./available-stores.ts";
import type { Family, Fault } from "./fault.ts";
import { openServerWorld, type ServerWorld } from "./server-world.ts";

const minute = 60_000;

/** Machines, and what their clocks make of one time; on the last one an hour has gone by. */
const clocks = {
  behind: () => Date.now() - 10 * minute,
  right: () => Date.now(),
  ahead: () => Date.now() + 10 * minute,
  later: () => Date.now() + 60 * minute,
};
type Machine = keyof typeof clocks;
const machines = Object.keys(clocks) as Machine[];
/** Those that run at one time. */
const apart = ["behind", "right", "ahead"] as const;

interface ClockWorld extends ServerWorld {
  /** One store, as each machine opens it. */
  readonly stores: Record<Machine, SessionStore>;
  /** A server without sessions. */
  readonly statelessUrl: string;
}

async function openClockWorld(kind: StoreKind): Promise<ClockWorld> {
  const place = await startStorePlace(kind);
  const opened = await Promise.all(
    machines.map((machine) => openStoreAt(place, { now: clocks[machine] })),
  );
  const stores = Object.fromEntries(
    machines.map((machine, index) => [machine, opened[index]!.store]),
  ) as ClockWorld["stores"];
  const [served, stateless] = await Promise.all([openServerWorld(), startSdkV2ModernOnlyServer()]);
  const { evidence } = served;
  return {
    ...served,
    ...{ stores, statelessUrl: stateless.url },
    evidence: { runs: (text) => evidence.runs(text) + stateless.runs(text) },
    async close() {
      for (const each of opened) await each.close?.();
      await Promise.all([served.close(), stateless.stop(), place.remove()]);
    },
  };
}

/** Where a step runs. */
function on({ stores }: ClockWorld, machine: Machine) {
  return { store: stores[machine], now: clocks[machine] };
}

/** What is idle for longer than this is swept, in milliseconds: the shortest time that may be given. */
const idleForMs = 3 * minute;

function createSessions(world: ClockWorld, machine: Machine) {
  const { url } = world.front;
  const connections = {
    notes: defineMcpClientConnection({ url, description: "A notebook.", session: "stateful" }),
  };
  return createDurableSessions({ connections, ...on(world, machine) });
}

async function sweepOn(machine: Machine, world: ClockWorld): Promise<(string | undefined)[]> {
  const { admin } = createSessions(world, machine);
  const { sessions } = await admin.sweep({ idleForMs, authorize: () => ({ principal }) });
  return sessions.map(({ sessionId }) => sessionId);
}

/** A step is open on one machine, and another one sweeps. */
function swept(name: string, user: Machine, sweeper: Machine): Fault<ClockWorld> {
  return {
    name,
    async round(round, world) {
      const chat = round.chat({ url: world.front.url, ...on(world, user), keepsSession: true });
      const sweep = async () => {
        const taken = await sweepOn(sweeper, world);
        if (taken.includes(chat.options.id)) round.fault("lost: a session in use was swept");
      };
      await chat.step({ calls: 2, isHealthy: true, opened: sweep });
      await sweep();
      await chat.step({ calls: 2, isHealthy: true, ending: sweep });
      await chat.step({ calls: 1, isHealthy: true, reads: true });
    },
  };
}

/** Nobody uses a session any more, and an hour later it is swept. */
function leftAlone(name: string, user: Machine): Fault<ClockWorld> {
  return {
    name,
    async round(round, world) {
      const chat = round.chat({ url: world.front.url, ...on(world, user) });
      await chat.step({ calls: 2, isHealthy: true, reads: true });
      const taken = await sweepOn("later", world);
      if (!taken.includes(chat.options.id))
        round.fault("left behind: an idle session was not swept");
    },
  };
}

/** Shorter than the difference of the clocks, so that it counts. */
const session = {
  mode: "stateful",
  toolList: { maxAgeMs: minute },
} as const;

/** Each step of one agent session runs on another machine. */
function inTurn(name: string, isStateless: boolean): Fault<ClockWorld> {
  return {
    name,
    async round(round, world) {
      const url = isStateless ? world.statelessUrl : world.front.url;
      const chat = round.chat({
        url,
        session,
        ...on(world, "right"),
        keepsSession: true,
        isStateless,
      });
      for (let step = 1; step <= 5; step += 1) {
        const machine = apart[Math.floor(round.random() * apart.length)]!;
        await chat.step({ calls: 2, isHealthy: true, on: on(world, machine) });
      }
      await chat.step({ calls: 1, isHealthy: true, reads: true });
    },
  };
}

async function makeNamed({ named: sessions }: ConnectionRun): Promise<void> {
  await sessions.create("draft", { idleTimeoutMs: idleForMs });
}

/** A session with a name is used on one machine; the next step runs on another, which sweeps idle names. */
function named(name: string, user: Machine, next: Machine): Fault<ClockWorld> {
  return {
    name,
    async round(round, world) {
      const chat = round.chat({ url: world.front.url, ...on(world, user), keepsSession: true });
      const look = async ({ named: sessions }: ConnectionRun) => {
        const found = await sessions.find("draft");
        if (found?.connections[0]?.kind === "session") return;
        round.fault("lost: a named session was ended a moment after its use");
      };
      await chat.step({ calls: 2, isHealthy: true, opened: makeNamed });
      await chat.step({ calls: 2, isHealthy: true, on: on(world, next) });
      await createSessions(world, next).admin.sweep({ authorize: () => ({ principal }) });
      await chat.step({ calls: 1, isHealthy: true, opened: look, reads: true });
    },
  };
}

const faultsOn = (store: string) => [
  swept(`${store}: a step 10 minutes behind, swept ahead`, "behind", "right"),
  swept(`${store}: a step, swept 10 minutes ahead`, "right", "ahead"),
  swept(`${store}: a step 10 minutes ahead, swept behind`, "ahead", "right"),
  leftAlone(`${store}: a step 10 minutes behind, swept an hour later`, "behind"),
  leftAlone(`${store}: a step 10 minutes ahead, swept an hour later`, "ahead"),
  inTurn(`${store}: steps behind, right and ahead`, false),
  inTurn(`${store}: the same, a server without sessions`, true),
  named(`${store}: a named session, the next step 10 minutes ahead`, "right", "ahead"),
  named(`${store}: a named session, the next step 10 minutes behind`, "right", "behind"),
];

export const clockFamily: Family = {
  name: "clock",
  rounds: 5,
  groups: availableStores.map((kind) => ({
    openWorld: () => openClockWorld(kind),
    faults: faultsOn(storeNames[kind]),
  })),
  skipped: skippedStores,
};
