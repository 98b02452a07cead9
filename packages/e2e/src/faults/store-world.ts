import type { SessionStore } from "@durable-mcp/core";
import { openStoreAt, startStorePlace, type StoreKind } from "../durable/store-place.ts";
import { openServerWorld, type ServerWorld } from "./server-world.ts";
import { createStoreAtFault, type StoreAtFault } from "./store-at-fault.ts";
import { startTcpProxy, type TcpProxy } from "./tcp-proxy.ts";
import { ownStoreMs } from "./waits.ts";

/** A notebook server, and a store that can be made to fail. */
export interface StoreWorld extends ServerWorld {
  readonly atFault: StoreAtFault;
  /** The network before the database. */
  readonly network: TcpProxy;
  /** Waits until the store answers again. */
  readonly untilWell: () => Promise<void>;
}

export async function openStoreWorld(kind: StoreKind): Promise<StoreWorld> {
  const place = await startStorePlace(kind);
  const network = await startTcpProxy(Number(place.at));
  const { store, close } = await openStoreAt({ kind, at: network.port }, { timeoutMs: ownStoreMs });
  const served = await openServerWorld();
  return {
    ...{ ...served, network },
    atFault: createStoreAtFault(store),
    untilWell: () => untilItAnswers(store),
    async close() {
      await close?.();
      await network.close();
      await place.remove();
      await served.close();
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
