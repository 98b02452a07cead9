import type { ConnectionRegistry } from "../registry/connection-registry.ts";
import { registryInternalsOf } from "../registry/registry-internals.ts";

/** Stands between a connection's name and a tool's. */
const separator = "__";

/**
 * Tells which of an agent's `activeTools` are none of its connections' tools. A connection without any
 * tool is down, which is told elsewhere.
 */
export function tellUnmatched(
  registry: ConnectionRegistry<any>,
  tools: object,
  activeTools: readonly unknown[] | undefined,
): void {
  const names = Object.keys(tools);
  const unmatched = (activeTools ?? []).map(String).filter((name) => !names.includes(name));
  for (const { name: connection } of registry.connections) {
    const isOwn = (name: string) => name.startsWith(connection + separator);
    const missing = unmatched.filter(isOwn);
    if (missing.length === 0 || !names.some(isOwn)) continue;
    const { emit } = registryInternalsOf(registry).find(connection);
    emit({ type: "tools-unmatched", connection, option: "activeTools", tools: missing });
  }
}
