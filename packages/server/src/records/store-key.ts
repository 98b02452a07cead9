import type { SessionStore } from "@durable-mcp/core";
import { maxBatch, writeBatch } from "@durable-mcp/core/internal";

/** The kinds of values; the decision record of a server session has a table of them. */
type KeyKind =
  | "session"
  | "answer"
  | "messages"
  | "standalone"
  | "mail"
  | "replica"
  | "state"
  | "question"
  | "session-task"
  | "session-task-result"
  | "task";

/** Structural keys: no choice of a name can make two of them equal. */
export function storeKey(name: string, kind: KeyKind, ...parts: string[]): string {
  return JSON.stringify(["durable-mcp-server", name, kind, ...parts]);
}

/** The beginning of all keys with these first parts, and of no other key. */
export function storeKeyPrefix(name: string, kind: KeyKind, ...parts: string[]): string {
  return `${storeKey(name, kind, ...parts).slice(0, -1)},`;
}

/** Removes every value whose key begins with `prefix`. */
export async function removeAllUnder(store: SessionStore, prefix: string): Promise<void> {
  let cursor: string | undefined;
  do {
    const page = await store.list({ prefix, cursor, limit: maxBatch });
    const writes = page.records.map(({ key }) => ({ type: "delete", key }) as const);
    if (writes.length > 0) await writeBatch(store, writes);
    ({ cursor } = page);
  } while (cursor !== undefined);
}
