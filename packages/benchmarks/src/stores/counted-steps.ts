import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createDurableSessions, defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import type { SessionStore } from "@durable-mcp/core";
import { type CountingProxy, startCountingProxy } from "../../../stores/test/counting-proxy.ts";
import { postgresUnavailable, startPostgres } from "../../../stores/test/postgres-server.ts";
import { redisUnavailable, startRedis } from "../../../stores/test/redis-server.ts";
import { countOperations } from "../server-load/count-operations.ts";
import { openMeasuredStore } from "../server-load/open-measured-store.ts";

/** A store whose use is counted, on the way to its database too. */
interface CountedStore {
  readonly store: SessionStore;
  readonly operations: Record<string, number>;
  /** `undefined` without a network. */
  readonly proxy: CountingProxy | undefined;
  readonly remove: () => Promise<void>;
}

/** Why there is no such database on this machine; `undefined` when there is. */
export const storesUnavailable: Readonly<Record<string, string | undefined>> = {
  SQLite: undefined,
  PostgreSQL: postgresUnavailable,
  Redis: redisUnavailable,
};

/** What a step asked of its store. */
export interface CountedStep {
  readonly store: string;
  readonly step: string;
  /** By the method's name. */
  readonly operations: Readonly<Record<string, number>>;
  /** `undefined` without a network. */
  readonly wire: { readonly commands: number; readonly roundTrips: number } | undefined;
}

const connections = { one: ["a"], three: ["a", "b", "c"] };
const minute = 60_000;

/** The steps of a chat, in this order; each finds what the one before it has left. */
const steps = [
  { step: "new", chat: "chat", names: connections.one, agoMs: 0 },
  { step: "resumed", chat: "chat", names: connections.one, agoMs: 0 },
  { step: "resumed a minute later", chat: "chat", names: connections.one, agoMs: minute },
  { step: "new, three connections", chat: "other", names: connections.three, agoMs: 0 },
  { step: "resumed, three connections", chat: "other", names: connections.three, agoMs: 0 },
];

/** Counts what steps ask of a store, each with sessions of its own. */
export async function countSteps(name: string, url: string): Promise<readonly CountedStep[]> {
  const counted = await openCountedStore(name);
  try {
    // The database learns the scripts, and a pool opens its connections.
    for (const agoMs of [0, minute]) {
      await runStep(counted.store, { url, chat: "first", names: connections.three, agoMs });
    }
    const results: CountedStep[] = [];
    for (const { step, ...use } of steps) {
      for (const operation of Object.keys(counted.operations)) delete counted.operations[operation];
      counted.proxy?.take();
      await runStep(counted.store, { url, ...use });
      const wire = counted.proxy?.take();
      results.push({
        store: name,
        step,
        operations: { ...counted.operations },
        wire: wire && { commands: wire.commands.length, roundTrips: wire.roundTrips },
      });
    }
    return results;
  } finally {
    await counted.remove();
  }
}

interface StepUse {
  readonly url: string;
  readonly chat: string;
  readonly names: readonly string[];
  /** How long ago the step before seems to be, in milliseconds. */
  readonly agoMs: number;
}

async function runStep(store: SessionStore, { url, chat, names, agoMs }: StepUse): Promise<void> {
  const definition = defineMcpClientConnection({
    url,
    description: "Counts.",
    session: "stateful",
  });
  const sessions = createDurableSessions({
    connections: Object.fromEntries(names.map((name) => [name, definition])),
    store,
    now: () => Date.now() + agoMs,
  });
  await sessions.run(chat, { principal: { type: "app" } }, (run) => run.call("a", "count"));
  // What runs beside the step is over then.
  await sessions.shutdown();
}

async function openCountedStore(name: string): Promise<CountedStore> {
  const operations: Record<string, number> = {};
  if (name === "SQLite") {
    const folder = mkdtempSync(join(tmpdir(), "durable-mcp-steps-"));
    const store = await openMeasuredStore("sqlite-full", join(folder, "sessions.db"));
    const remove = async () => rmSync(folder, { recursive: true, force: true });
    return { store: countOperations(store, operations), operations, proxy: undefined, remove };
  }
  const kind = name === "Redis" ? "redis" : "postgres";
  const server = await (kind === "redis" ? startRedis() : startPostgres());
  const proxy = await startCountingProxy(kind, server.port);
  const store = await openMeasuredStore(kind, String(proxy.port));
  return {
    store: countOperations(store, operations),
    operations,
    proxy,
    async remove() {
      await proxy.close();
      await server.remove();
    },
  };
}
