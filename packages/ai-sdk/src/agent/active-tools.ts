import type { ConnectionRegistry } from "../registry/connection-registry.ts";
import { registryInternalsOf } from "../registry/registry-internals.ts";

/** Stands between a connection's name and a tool's. */
const separator = "__";

/**
 * Tells which of an agent's `activeTools` are none of its connections' tools. A connection without any
 * tool is down, which is told elsewhere.
 */
export async function tellUnmatched(
  registry: ConnectionRegistry<any>,
  tools: object,
  activeTools: readonly unknown[] | undefined,
): Promise<void> {
  const names = Object.keys(tools);
  const unmatched = (activeTools ?? []).map(String).filter((name) => !names.includes(name));
  for (const { name: connection } of registry.connections) {
    const isOwn = (name: string) => name.startsWith(connection + separator);
    const missing = unmatched.filter(isOwn);
    if (missing.length === 0 || !names.some(isOwn)) continue;
    const event = { type: "tools-unmatched", option: "activeTools", tools: missing } as const;
    await registryInternalsOf(registry)(async ({ find }) =>
      find(connection).emit({ ...event, connection }),
    );
  }
}
