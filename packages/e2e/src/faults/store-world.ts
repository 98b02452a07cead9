import { createMemoryStore, type SessionStore } from "@durable-mcp/core";
import { openStoreAt, startStorePlace, type StoreKind } from "../durable/store-place.ts";
import { openServerWorld, type ServerWorld } from "./server-world.ts";
import { createStoreAtFault, type StoreAtFault } from "./store-at-fault.ts";
import { startTcpProxy, type TcpProxy } from "./tcp-proxy.ts";
import { ownStoreMs } from "./waits.ts";

/** A notebook server, and a store that can be made to fail. */
export interface StoreWorld extends ServerWorld {
  readonly atFault: StoreAtFault;
  /** The network before a database. */
  readonly network: TcpProxy | undefined;
  /** Where the SQLite file is. */
  readonly path: string | undefined;
  /** Waits until the store answers again. */
  readonly untilWell: () => Promise<void>;
}

export async function openStoreWorld(kind: StoreKind | "memory"): Promise<StoreWorld> {
  const parts = await (kind === "memory" ? memoryParts() : storedParts(kind));
  const { store, network, path } = parts;
  const served = await openServerWorld();
  return {
    ...served,
    ...{ network, path },
    atFault: createStoreAtFault(store),
    untilWell: () => untilItAnswers(store),
    async close() {
      await parts.close();
      await served.close();
    },
  };
}

interface StoreParts {
  readonly store: SessionStore;
  readonly network?: TcpProxy;
  readonly path?: string;
  readonly close: () => Promise<void>;
}

async function memoryParts(): Promise<StoreParts> {
  return { store: createMemoryStore(), close: async () => undefined };
}

async function storedParts(kind: StoreKind): Promise<StoreParts> {
  const place = await startStorePlace(kind);
  const network = kind === "sqlite" ? undefined : await startTcpProxy(Number(place.at));
  const at = network?.port ?? place.at;
  const opened = await openStoreAt({ kind, at }, { timeoutMs: ownStoreMs });
  return {
    store: opened.store,
    ...(network ? { network } : { path: String(place.at) }),
    async close() {
      await opened.close?.();
      await network?.close();
      await place.remove();
    },
  };
}

/** A client of a database takes its time to connect anew. */
async function untilItAnswers(store: SessionStore): Promise<void> {
  for (const deadline = Date.now() + 10_000; ;) {
    try {
      await store.get("is it there?");
      return;
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}
