import * as z from "zod/mini";
import { isMessage } from "../base/json-rpc.ts";
import type { JSONRPCMessage } from "../base/mcp-types.ts";
import { randomName } from "../base/session-id.ts";
import { isFailure } from "../records/commit-rows.ts";
import { editValue } from "../records/edit-value.ts";
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

const schema = z.object({
  version: z.literal(1),
  /** Of two boxes with one key, made one after the other, tells which one it is. */
  box: z.string(),
  writer: z.optional(z.string()),
  messages: z.array(z.custom<JSONRPCMessage>(isMessage)),
});

/** The messages that wait for one live session, as they are stored. */
type Mail = z.infer<typeof schema>;

/** A value may be another program's. */
function parseMail(value: unknown): Mail | undefined {
  return z.safeParse(schema, value).data;
}

/** Client messages that reached a replica other than the one that waits for them. */
export function createMailbox({ settings, store, sessions, signals, topicOf }: StoreContext) {
  const { name, now, timeouts, events } = settings;
  const most = Math.min(maxLength, events.maxLength);
  const keyOf = (hash: string, instance: string) => storeKey(name, "mail", hash, instance);
  const countMailboxes = async (hash: string) => {
    const prefix = storeKeyPrefix(name, "mail", hash);
    return (await store.list({ prefix, limit: maxMailboxes })).records.length;
  };
  /** Boxes whose removal failed, and may have been done. */
  const taking = new Map<string, Mail>();

  async function takeOnce(key: string): Promise<readonly JSONRPCMessage[]> {
    for (let stored = await store.get(key); ;) {
      const before = taking.get(key);
      const mail = parseMail(stored?.value);
      const isRemoved = before !== undefined && before.box !== mail?.box;
      const older = isRemoved ? before.messages : [];
      if (!stored) {
        taking.delete(key);
        return older;
      }
      if (mail && !isRemoved) taking.set(key, mail);
      const result = await store.delete(key, stored.revision);
      if (result.ok) {
        taking.delete(key);
        return [...older, ...(mail?.messages ?? [])];
      }
      stored = result.current;
    }
  }

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
      const { outcome } = await editValue<Mail>(store, key, {
        read: (value) => parseMail(value) ?? { version: 1, box: randomName(), messages: [] },
        change: async (mail, isNew) => {
          const messages = [...mail.messages, ...added].slice(-maxMessages);
          if (JSON.stringify(messages).length > most) throw new MailFull();
          if (isNew && (await countMailboxes(hash)) >= maxMailboxes) throw new MailFull();
          return { ...mail, messages };
        },
        put: () => ({ owner, expiresAt: now() + timeouts.resumeMs }),
      });
      // Looked up after the write: a session that ends later removes the message itself.
      if (outcome === "created" && !(await sessions.isStored(hash))) await store.delete(key);
      signals.send(topicOf(hash));
    },
    /** Takes the messages for a live session, in order. A removal that failed is tried once more. */
    async take(hash: string, instance: string): Promise<readonly JSONRPCMessage[]> {
      const key = keyOf(hash, instance);
      try {
        return await takeOnce(key);
      } catch (error) {
        if (!isFailure(error)) throw error;
        return await takeOnce(key);
      }
    },
    /** The live session is closed: nobody takes its messages. */
    forget: (hash: string, instance: string) => void taking.delete(keyOf(hash, instance)),
    /** Removes all messages for a session that has ended. */
    removeAll: (hash: string) => removeAllUnder(store, storeKeyPrefix(name, "mail", hash)),
  };
}

export type Mailbox = ReturnType<typeof createMailbox>;
