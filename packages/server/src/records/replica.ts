import type { SessionStore } from "@durable-mcp/core";
import { detach } from "@durable-mcp/core/internal";
import * as z from "zod/mini";
import { randomName } from "../base/session-id.ts";
import type { HandlerSettings } from "../base/settings.ts";
import { storeKey } from "./store-key.ts";

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

/** How a process holds on to a call: what others need to know to ask about it. */
export interface CallHold {
  /** The lease's renewals so far: a later renewal lists the call as long as it is in flight. */
  readonly renewals: number;
  readonly release: () => void;
}

/** This process, as other replicas see it. */
export interface Replica {
  readonly token: string;
  /**
   * Makes sure that the others count this process as alive, and `call` as in flight, until it is
   * released. A promise only when the lease has to be written first.
   */
  hold(call: string): CallHold | Promise<CallHold>;
  /** The same for a stream that is no call. */
  stay(): Promise<() => void>;
  /** Whether the process with this token lives. Its own always does. */
  isAlive(token: string): Promise<boolean>;
  /**
   * Whether a call that was held after `renewals` renewals is in flight. `"finished"`: its answer was
   * stored, if it ever was, before this was asked.
   */
  look(token: string, call: string, renewals: number): Promise<"in-flight" | "finished" | "dead">;
  /** Gives the lease back: from now on the others count this process as dead. */
  leave(): Promise<void>;
}

/** A lease in the store, renewed while a call or a stream depends on it and at no other time. */
// oxlint-disable-next-line max-lines-per-function -- its state, and functions of a few lines each
export function createReplica(
  store: SessionStore,
  { name, now, timeouts: { leaseMs } }: HandlerSettings,
): Replica {
  const token = randomName();
  const key = storeKey(name, "replica", token);
  const calls = new Set<string>();
  let streams = 0;
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
      const value = { version: 1, renewals, ...(calls.size <= maxCalls && { calls: [...calls] }) };
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

  function startRenewing(): void {
    timer ??= setInterval(() => {
      if (calls.size + streams === 0) return stopRenewing();
      // The store has emitted its failure; the next tick tries again.
      renew().catch(() => {});
    }, leaseMs / 3);
    // The process may end when all else is done.
    detach(timer);
  }

  /** `undefined` when the lease is good for long enough. */
  function whenValid(): Promise<void> | undefined {
    return validUntil - now() < leaseMs / 2 ? renew() : undefined;
  }

  return {
    token,
    hold: (call) => {
      calls.add(call);
      const held = { renewals, release: () => void calls.delete(call) };
      const writing = whenValid();
      startRenewing();
      if (!writing) return held;
      return writing.then(
        () => held,
        (error: unknown) => {
          held.release();
          throw error;
        },
      );
    },
    stay: async () => {
      streams += 1;
      let isHeld = true;
      const release = () => {
        if (isHeld) streams -= 1;
        isHeld = false;
      };
      try {
        await whenValid();
      } catch (error) {
        release();
        throw error;
      }
      startRenewing();
      return release;
    },
    isAlive: async (other) =>
      other === token || (await store.get(storeKey(name, "replica", other))) !== undefined,
    look: async (other, call, heldAt) => {
      if (other === token) return calls.has(call) ? "in-flight" : "finished";
      const stored = await store.get(storeKey(name, "replica", other));
      if (!stored) return "dead";
      const lease = z.safeParse(schema, stored.value).data;
      const isListed = !lease?.calls || lease.renewals <= heldAt || lease.calls.includes(call);
      return isListed ? "in-flight" : "finished";
    },
    leave: async () => {
      stopRenewing();
      // A renewal that arrived after the lease is deleted would bring it back.
      await renewing?.catch(() => {});
      validUntil = 0;
      revision = null;
      await store.delete(key);
    },
  };
}
