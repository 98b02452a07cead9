import { isRecord } from "@durable-mcp/core/internal";
import type { JsonValue } from "@durable-mcp/core";
import type { JSONRPCMessage } from "../base/mcp-types.ts";
import type { StoreContext } from "../records/store-context.ts";
import { removeAllUnder, storeKey, storeKeyPrefix } from "../records/store-key.ts";
import type { FoundRow } from "../records/stored-session.ts";

/** Messages that wait for one live session at most; a client sends few while a call runs. */
const maxMessages = 100;
/** JSON characters that wait for one live session at most, below the limit of a store's record. */
const maxLength = 500_000;
/** Live sessions of one session, one per process, for which messages wait at most. */
const maxMailboxes = 16;

/** A session's mailboxes have no room for the message. */
export class MailFull extends Error {}

/** Client messages that reached a replica other than the one that waits for them. */
export function createMailbox({ settings, store, sessions, signals, topicOf }: StoreContext) {
  const { name, now, timeouts } = settings;
  const keyOf = (hash: string, instance: string) => storeKey(name, "mail", hash, instance);
  const countMailboxes = async (hash: string) => {
    const prefix = storeKeyPrefix(name, "mail", hash);
    return (await store.list({ prefix, limit: maxMailboxes })).records.length;
  };
  return {
    /**
     * Leaves a client's messages for the live session that waits for them in another process.
     *
     * @throws {MailFull} the request is refused: clients name the live session, so they could name any
     */
    async leave(
      { hash, record: { owner } }: FoundRow,
      instance: string,
      added: readonly JSONRPCMessage[],
    ): Promise<void> {
      const key = keyOf(hash, instance);
      for (let stored = await store.get(key); ;) {
        const before = messagesIn(stored?.value);
        const value = [...before, ...added].slice(-maxMessages) as unknown as JsonValue;
        if (JSON.stringify(value).length > maxLength) throw new MailFull();
        if (!stored && (await countMailboxes(hash)) >= maxMailboxes) throw new MailFull();
        const options = { owner, expiresAt: now() + timeouts.resumeMs };
        const result = await store.put(key, value, stored?.revision ?? null, options);
        if (result.ok) {
          // Looked up after the write: a session that ends later removes the message itself.
          if (!stored && !(await sessions.isStored(hash))) await store.delete(key);
          signals.send(topicOf(hash));
          return;
        }
        stored = result.current;
      }
    },
    /** Takes the messages for a live session, in order. */
    async take(hash: string, instance: string): Promise<JSONRPCMessage[]> {
      const key = keyOf(hash, instance);
      for (let stored = await store.get(key); stored;) {
        const result = await store.delete(key, stored.revision);
        if (result.ok) return messagesIn(stored.value);
        stored = result.current;
      }
      return [];
    },
    /** Removes all messages for a session that has ended. */
    removeAll: (hash: string) => removeAllUnder(store, storeKeyPrefix(name, "mail", hash)),
  };
}

/** The messages in a stored value, which may be another program's. */
function messagesIn(value: unknown): JSONRPCMessage[] {
  const messages = Array.isArray(value) ? (value as unknown[]) : [];
  return messages.filter(
    (message): message is JSONRPCMessage => isRecord(message) && message["jsonrpc"] === "2.0",
  );
}

export type Mailbox = ReturnType<typeof createMailbox>;
