import type { Principal } from "../../src/session/principal.ts";
import type { JsonRpcRequest } from "../../src/wire/json-rpc.ts";
import {
  type OnSession,
  type OnStart,
  parseSessionSnapshot,
  type SessionSlot,
} from "../../src/index.ts";
import type { InvariantChecks } from "./invariants.ts";
import type { Parts } from "./parts.ts";
import type { ClientPlan, Plan, ProcessPlan } from "./plan.ts";
import type { Random } from "./random.ts";
import type { Scheduler } from "./scheduler.ts";
import { createSimulatedClient, StoreFailure } from "./simulated-client.ts";

const isRead = ({ params }: JsonRpcRequest) => params?.["name"] === "read";

/** The saved snapshots of all processes, as JSON, under the key of connection and principal. */
export type SnapshotStore = Map<string, string>;

/**
 * One process of an agent session: takes up what is saved, works with its clients, and saves what
 * has changed, at the save point of each new session and again at its end.
 */
export async function runSimulatedProcess({
  plan,
  schedule,
  parts,
  store,
  fetch,
  random,
  scheduler,
  checks,
}: {
  plan: ProcessPlan;
  schedule: Plan;
  parts: Parts;
  store: SnapshotStore;
  fetch: typeof globalThis.fetch;
  random: Random;
  scheduler: Scheduler;
  checks: InvariantChecks;
}): Promise<void> {
  const { name } = plan;
  const { turn, turns } = scheduler;
  await turns(plan.startsAfter);
  const url = serverUrl(plan.connection, plan.isMoved);
  const owner = ownerName(plan.principal);
  const key = parts.sessionKey({ connection: plan.connection, principal: plan.principal });
  /** What the store held when this process last looked. */
  let seen = store.get(key);
  const slot = parts.createSessionSlot(
    seen === undefined ? undefined : parseSessionSnapshot(JSON.parse(seen)),
  );
  const inBackground: Promise<unknown>[] = [];

  const onSession: OnSession = async (snapshot) => {
    checks.captured(name, snapshot.sessionId);
    await turn(`${name} saves`);
    if (random.chance(schedule.faults.store)) {
      checks.count("fault: store");
      checks.saveFailed(name);
      throw new StoreFailure("The store is down.");
    }
    const stored = store.get(key);
    if (schedule.savePoint === "compare-and-set" && stored !== undefined && stored !== seen) {
      const winner = parseSessionSnapshot(JSON.parse(stored));
      if (winner.kind === "session" && winner.url === snapshot.url) {
        seen = stored;
        checks.count("lost the race at the save point");
        const headers = { authorization: owner };
        inBackground.push(parts.endSession({ url, snapshot, headers, fetch }));
        await turn(`${name} adopts ${winner.sessionId}`);
        checks.saved(name, winner.sessionId);
        return winner;
      }
    }
    seen = JSON.stringify(snapshot);
    store.set(key, seen);
    await turn(`${name} has saved ${snapshot.sessionId}`);
    checks.saved(name, snapshot.sessionId);
    return undefined;
  };

  let startedSessions = 0;
  const onStart: OnStart = async ({ reason, fetch: startFetch }) => {
    checks.count(`start hook: ${reason}`);
    startedSessions += 1;
    checks.preparing(name, true);
    try {
      const hook: ClientPlan = {
        name: `${name}.start${startedSessions}`,
        hasOwnFetch: true,
        handshake: "none",
        abortsHandshakeAfter: undefined,
        operations: [{ kind: random.pick(["write", "ping"]), startsAfter: 0 }],
      };
      await createClient(hook, startFetch).run();
    } finally {
      checks.preparing(name, false);
    }
  };

  const createClient = (client: ClientPlan, clientFetch: typeof globalThis.fetch) =>
    createSimulatedClient({
      plan: client,
      process: name,
      url,
      owner,
      fetch: clientFetch,
      random,
      scheduler,
      checks,
    });

  const hasSavePoint = schedule.savePoint !== "none";
  const { timeoutMs } = plan;
  const createFetch = () =>
    parts.createSessionFetch({
      url,
      slot,
      fetch,
      recovery: {
        resend: plan.resend === "safe" ? isRead : plan.resend,
        onLoss: plan.onLoss,
      },
      cancelOnAbort: plan.cancelOnAbort,
      now: scheduler.now,
      onEvent: (event) => {
        checks.count(`event: ${event.type}`);
        checks.checkSecret("an event", JSON.stringify(event));
      },
      ...(hasSavePoint && { onSession }),
      ...(timeoutMs && { timeouts: { initializeMs: timeoutMs, answerMs: timeoutMs } }),
      ...(plan.hasStartHook && hasSavePoint && { onStart }),
    });
  const shared = createFetch();
  const heldId = () => (slot.snapshot?.kind === "session" ? slot.snapshot.sessionId : undefined);
  checks.addSlot(name, {
    heldId,
    hasSavePoint,
    resend: plan.resend,
    onLoss: plan.onLoss,
    mayTimeOut: plan.timeoutMs !== undefined,
  });

  for (const client of plan.clients) if (!client.hasOwnFetch) checks.sharesFetch(client.name);
  const clients = plan.clients.map((client) =>
    createClient(client, client.hasOwnFetch ? createFetch() : shared),
  );
  await Promise.all(clients.map((client) => client.run()));
  await slot.settle();
  await commit({ slot, store, key, name, scheduler });
  await Promise.all(inBackground);
}

/** Without a save point of its own, the last process to end has the last word. */
async function commit({
  slot,
  store,
  key,
  name,
  scheduler,
}: {
  slot: SessionSlot;
  store: SnapshotStore;
  key: string;
  name: string;
  scheduler: Scheduler;
}): Promise<void> {
  await scheduler.turn(`${name} commits`);
  if (!slot.changed) return;
  if (slot.snapshot === undefined) store.delete(key);
  else store.set(key, JSON.stringify(slot.snapshot));
}

export function serverUrl(connection: string, isMoved: boolean): string {
  return `https://${connection}.example/${isMoved ? "moved/" : ""}mcp`;
}

/** A principal as its `authorization` header tells the server. */
export function ownerName(principal: Principal): string {
  return `Bearer ${JSON.stringify(principal)}`;
}
