import { forwardConnection } from "../connection/forward-connection.ts";
import type { LiveConnection } from "../connection/live-connection.ts";
import { registryDisposed } from "../errors/connection-error.ts";
import { createClientOfRun } from "./client-of-run.ts";
import type { SharedUse } from "./connection-pool.ts";

/**
 * Connects one run to a process that other runs may use at the same time. Closing the connection takes
 * nothing from the others.
 *
 * @param shared the uses under way, by their keys
 * @param begin begins a use, if there is none under way
 */
export function joinSharedUse(
  shared: Map<string, SharedUse>,
  key: string,
  runSignal: AbortSignal,
  begin: () => Omit<SharedUse, "runs">,
): LiveConnection {
  const own = shared.get(key) ?? { ...begin(), runs: 0 };
  shared.set(key, own);
  own.runs += 1;
  let isOver = false;
  const throwIfOver = () => {
    if (isOver) throw registryDisposed(own.connection.name);
  };
  const clientOfRun = createClientOfRun({
    throwIfOver,
    watched: async (request) => await request(),
  });
  return forwardConnection(() => own.connection, {
    abortSignal: runSignal,
    async client() {
      throwIfOver();
      return clientOfRun(await own.connection.client());
    },
    openings: new Set(),
    async settle() {},
    async endLooseSessions() {
      if (isOver) return;
      isOver = true;
      own.runs -= 1;
      if (own.runs > 0) return;
      shared.delete(key);
      await own.end();
    },
  });
}
