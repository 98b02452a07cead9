import type { SessionStore } from "@durable-mcp/core";

/** The kinds of values; the decision record of a server session has a table of them. */
type KeyKind = "session" | "request" | "standalone" | "mail" | "replica";

/** Structural keys: no choice of a name or a request id can make two of them equal. */
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
    const page = await store.list({ prefix, cursor, limit: 1000 });
    await Promise.all(page.records.map((record) => store.delete(record.key)));
    ({ cursor } = page);
  } while (cursor !== undefined);
}
