import type { SessionStore } from "@durable-mcp/core";
import { detach } from "@durable-mcp/core/internal";
import { randomName } from "../base/session-id.ts";
import type { HandlerSettings } from "../base/settings.ts";
import { storeKey } from "./store-key.ts";

/** This process, as other replicas see it. */
export interface Replica {
  readonly token: string;
  /** Makes sure that the others count this process as alive, until the returned function is called. */
  hold(): Promise<() => void>;
  /** Whether the process with this token lives. Its own always does. */
  isAlive(token: string): Promise<boolean>;
  /** Gives the lease back: from now on the others count this process as dead. */
  leave(): Promise<void>;
}

/** A lease in the store, renewed while a request or a stream depends on it and at no other time. */
export function createReplica(
  store: SessionStore,
  { name, now, timeouts: { leaseMs } }: HandlerSettings,
): Replica {
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

  function stopRenewing(): void {
    clearInterval(timer);
    timer = undefined;
  }

  function startRenewing(): void {
    timer ??= setInterval(() => {
      if (holders === 0) return stopRenewing();
      // The store has emitted its failure; the next tick tries again.
      renew().catch(() => {});
    }, leaseMs / 3);
    // The process may end when all else is done.
    detach(timer);
  }

  async function hold(): Promise<() => void> {
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
    startRenewing();
    return release;
  }

  return {
    token,
    hold,
    isAlive: async (other) =>
      other === token || (await store.get(storeKey(name, "replica", other))) !== undefined,
    leave: async () => {
      stopRenewing();
      validUntil = 0;
      revision = null;
      await store.delete(key);
    },
  };
}
