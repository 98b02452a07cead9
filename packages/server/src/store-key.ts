/** Which kind of value a key holds; see the decision record on what a session leaves in the store. */
type KeyKind = "session" | "request" | "standalone" | "mail" | "replica";

/** Structural keys, so that no choice of a name or a request id can make two meet. */
export function storeKey(name: string, kind: KeyKind, ...parts: string[]): string {
  return JSON.stringify(["durable-mcp-server", name, kind, ...parts]);
}

/** What all keys with these first parts begin with, and no others. */
export function storeKeyPrefix(name: string, kind: KeyKind, ...parts: string[]): string {
  return `${storeKey(name, kind, ...parts).slice(0, -1)},`;
}
