import type { SessionStore } from "@durable-mcp/core";
import { randomName } from "../base/session-id.ts";
import { storeKey } from "./store-key.ts";

/** This process, as other replicas see it. */
export interface Replica {
  readonly token: string;
  /** Makes sure that the others count this process as alive until `release`. */
  hold(): Promise<() => void>;
  /** Whether the process with this token lives. Its own always does. */
  isAlive(token: string): Promise<boolean>;
  /** Gives the lease back: what was held is lost from now on. */
  leave(): Promise<void>;
}

/** A lease in the store, renewed while anything depends on it and at no other time. */
export function createReplica({
  store,
  name,
  leaseMs,
  now,
}: {
  store: SessionStore;
  name: string;
  leaseMs: number;
  now: () => number;
}): Replica {
  const token = randomName();
  const key = storeKey(name, "replica", token);
  let revision: string | null = null;
  let validUntil = 0;
  let holders = 0;
  let renewing: Promise<void> | undefined;
  let timer: ReturnType<typeof setInterval> | undefined;

  async function write(): Promise<void> {
    for (;;) {
      const expiresAt = now() + leaseMs;
      const result = await store.put(key, null, revision, { owner: "", expiresAt });
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

  function tick(): void {
    if (holders === 0) {
      clearInterval(timer);
      timer = undefined;
      return;
    }
    // A failure is the store's, and told there; the next tick tries again.
    renew().catch(() => {});
  }

  return {
    token,
    hold: async () => {
      holders += 1;
      let isHeld = true;
      const release = () => {
        if (isHeld) holders -= 1;
        isHeld = false;
      };
      try {
        if (validUntil - now() < leaseMs / 2) await renew();
      } catch (error) {
        release();
        throw error;
      }
      if (timer === undefined) {
        timer = setInterval(tick, leaseMs / 3);
        // The process may end when all else is done; without Node there is nothing to unref.
        (timer as { unref?: () => void }).unref?.();
      }
      return release;
    },
    isAlive: async (other) =>
      other === token || (await store.get(storeKey(name, "replica", other))) !== undefined,
    leave: async () => {
      clearInterval(timer);
      timer = undefined;
      validUntil = 0;
      revision = null;
      await store.delete(key);
    },
  };
}
