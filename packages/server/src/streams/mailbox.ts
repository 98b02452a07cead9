import type { JsonValue, SessionStore } from "@durable-mcp/core";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { removeAllUnder, storeKey, storeKeyPrefix } from "../records/store-key.ts";

export interface Mailbox {
  /**
   * Leaves a client's message for the live session that waits for it in another process.
   *
   * @throws {MailFull} the request is refused: clients name the live session, so they could name any
   */
  leave(
    session: { readonly hash: string; readonly owner: string },
    instance: string,
    message: JSONRPCMessage,
  ): Promise<void>;
  /** Takes what was left for a live session, in order. */
  take(hash: string, instance: string): Promise<JSONRPCMessage[]>;
  /** Removes all that was left for a session that has ended. */
  removeAll(hash: string): Promise<void>;
}

/** Messages left for one live session at most; a client sends few while a call runs. */
const maxMessages = 100;
/** JSON characters left for one live session at most, below what a store takes. */
const maxLength = 500_000;
/** Live sessions of one session, one a process, that mail waits for at most. */
const maxMailboxes = 16;

/** More was to be left for a session than is kept. */
export class MailFull extends Error {}

export function createMailbox({
  store,
  name,
  maxAgeMs,
  now,
  isStored,
}: {
  store: SessionStore;
  name: string;
  maxAgeMs: number;
  now: () => number;
  /** Whether a session is stored. */
  isStored: (hash: string) => Promise<boolean>;
}): Mailbox {
  const countMailboxes = async (hash: string) => {
    const prefix = storeKeyPrefix(name, "mail", hash);
    return (await store.list({ prefix, limit: maxMailboxes })).records.length;
  };
  const keyOf = (hash: string, instance: string) => storeKey(name, "mail", hash, instance);
  return {
    leave: async ({ hash, owner }, instance, message) => {
      const key = keyOf(hash, instance);
      for (let stored = await store.get(key); ;) {
        const before = Array.isArray(stored?.value) ? (stored.value as JsonValue[]) : [];
        const value = [...before, message as unknown as JsonValue].slice(-maxMessages);
        if (JSON.stringify(value).length > maxLength) throw new MailFull();
        if (!stored && (await countMailboxes(hash)) >= maxMailboxes) throw new MailFull();
        const options = { owner, expiresAt: now() + maxAgeMs };
        const result = await store.put(key, value, stored?.revision ?? null, options);
        if (result.ok) {
          // Looked up after the write: a session that ends later removes what is there by then.
          if (!stored && !(await isStored(hash))) await store.delete(key);
          return;
        }
        stored = result.current;
      }
    },
    take: async (hash, instance) => {
      const key = keyOf(hash, instance);
      for (let stored = await store.get(key); stored;) {
        const result = await store.delete(key, stored.revision);
        if (result.ok) return stored.value as unknown as JSONRPCMessage[];
        stored = result.current;
      }
      return [];
    },
    removeAll: (hash) => removeAllUnder(store, storeKeyPrefix(name, "mail", hash)),
  };
}
