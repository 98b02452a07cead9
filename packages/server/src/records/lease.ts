import type { SessionStore } from "@durable-mcp/core";
import { detach } from "@durable-mcp/core/internal";
import * as z from "zod/mini";
import type { HandlerSettings } from "../base/settings.ts";

/** The lease of a process, as it is stored. */
const schema = z.object({
  version: z.literal(1),
  /** How often it was renewed. */
  renewals: z.number(),
  /** The calls that the process had in flight when it renewed the lease; absent when they were too many. */
  calls: z.optional(z.array(z.string())),
});

/** The most calls that a lease lists; more would not fit into a store's record. */
const maxCalls = 10_000;

/** Whether a lease says of a call, held after `heldAt` renewals, that it may be in flight. */
export function mayHold(stored: unknown, call: string, heldAt: number): boolean {
  const lease = z.safeParse(schema, stored).data;
  return !lease?.calls || lease.renewals <= heldAt || lease.calls.includes(call);
}

/**
 * The lease of this process.
 * @param use what depends on the lease: it lists the calls
 */
export function createLease(
  store: SessionStore,
  { now, timeouts: { leaseMs } }: HandlerSettings,
  key: string,
  use: { readonly calls: ReadonlySet<string>; streams: number },
) {
  let renewals = 0;
  let revision: string | null = null;
  let validUntil = 0;
  let renewing: Promise<void> | undefined;
  let timer: ReturnType<typeof setInterval> | undefined;

  async function write(): Promise<void> {
    let hasFailed = false;
    for (;;) {
      const expiresAt = now() + leaseMs;
      renewals += 1;
      const calls = use.calls.size <= maxCalls ? [...use.calls] : undefined;
      const value = { version: 1, renewals, ...(calls && { calls }) };
      const result = await store
        .put(key, value, revision, { owner: "", expiresAt })
        .catch((error: unknown) => {
          if (hasFailed) throw error;
          hasFailed = true;
        });
      // If it was done all the same, the next try meets it as a conflict.
      if (!result) continue;
      revision = result.ok ? result.revision : (result.current?.revision ?? null);
      if (!result.ok) continue;
      validUntil = expiresAt;
      return;
    }
  }

  function renew(): Promise<void> {
    renewing ??= write().finally(() => {
      renewing = undefined;
    });
    return renewing;
  }

  function stopRenewing(): void {
    clearInterval(timer);
    timer = undefined;
  }

  return {
    renewals: () => renewals,
    /** `undefined` when the lease is good for long enough. */
    whenValid: (): Promise<void> | undefined =>
      validUntil - now() < leaseMs / 2 ? renew() : undefined,
    /** Renews it until nothing depends on it. */
    startRenewing: (): void => {
      timer ??= setInterval(() => {
        if (use.calls.size + use.streams === 0) return stopRenewing();
        // The store has emitted its failure; the next tick tries again.
        renew().catch(() => {});
      }, leaseMs / 3);
      // The process may end when all else is done.
      detach(timer);
    },
    remove: async (): Promise<void> => {
      stopRenewing();
      // A renewal that arrived after the lease is deleted would bring it back.
      await renewing?.catch(() => {});
      validUntil = 0;
      revision = null;
      await store.delete(key);
    },
  };
}
