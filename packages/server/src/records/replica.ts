import type { SessionStore } from "@durable-mcp/core";
import { once } from "../base/once.ts";
import { randomName } from "../base/session-id.ts";
import type { HandlerSettings } from "../base/settings.ts";
import { createLease, mayHold } from "./lease.ts";
import { storeKey } from "./store-key.ts";

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
export function createReplica(store: SessionStore, settings: HandlerSettings): Replica {
  const token = randomName();
  const keyOf = (other: string) => storeKey(settings.name, "replica", other);
  const calls = new Set<string>();
  const use = { calls, streams: 0 };
  const lease = createLease(store, settings, keyOf(token), use);

  return {
    token,
    hold: (call) => {
      calls.add(call);
      const held = { renewals: lease.renewals(), release: () => void calls.delete(call) };
      const writing = lease.whenValid();
      lease.startRenewing();
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
      use.streams += 1;
      const release = once(() => (use.streams -= 1));
      try {
        await lease.whenValid();
      } catch (error) {
        release();
        throw error;
      }
      lease.startRenewing();
      return release;
    },
    isAlive: async (other) => other === token || (await store.get(keyOf(other))) !== undefined,
    look: async (other, call, heldAt) => {
      if (other === token) return calls.has(call) ? "in-flight" : "finished";
      const stored = await store.get(keyOf(other));
      if (!stored) return "dead";
      return mayHold(stored.value, call, heldAt) ? "in-flight" : "finished";
    },
    leave: lease.remove,
  };
}
