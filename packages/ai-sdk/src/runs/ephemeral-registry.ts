import { McpSessionError, type Principal } from "@durable-mcp/core";
import type { ConnectionProvider } from "../provider/connection-provider.ts";
import type { ConnectionRegistry } from "../registry/connection-registry.ts";
import type { Connections } from "../connection/mcp-connection.ts";
import { internalsOf } from "../provider/provider-internals.ts";
import { createRegistryFacade } from "../registry/registry-facade.ts";

/** A registry that opens another for each use, and ends its sessions afterwards. */
export function createEphemeralRegistry<CONNECTIONS extends Connections>({
  provider,
  principal,
}: {
  provider: ConnectionProvider<CONNECTIONS>;
  principal?: Principal | undefined;
}): ConnectionRegistry<CONNECTIONS> {
  const { createUnkept } = internalsOf<CONNECTIONS>(provider);
  const lend = async <T>(use: (registry: ConnectionRegistry) => Promise<T>): Promise<T> => {
    const registry = createUnkept(principal);
    try {
      return await use(registry);
    } finally {
      await registry.dispose();
    }
  };
  // At once, so that the caller learns what is wrong with the connections or the principal.
  const example = createUnkept(principal);
  return createRegistryFacade({
    lend,
    example: () => example,
    client: async () => refuse("client"),
    fetch: () => refuse("fetch"),
    dispose: () => Promise.resolve(),
  }) as ConnectionRegistry<any>;
}

function refuse(method: string): never {
  throw new McpSessionError(
    "CONNECTION_INVALID",
    `${method} outlives a call, and an ephemeral registry does not. Use it in run(), or open a run.`,
    { data: { field: "ephemeral" } },
  );
}
