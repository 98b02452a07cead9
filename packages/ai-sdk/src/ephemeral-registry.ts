import { McpSessionError, type Principal } from "@durable-mcp/core";
import type { ToolSet } from "ai";
import type { ConnectionProvider } from "./connection-provider.ts";
import type { ConnectionRegistry } from "./connection-registry.ts";
import type { Execute } from "./connection-tools.ts";
import type { McpConnection } from "./mcp-connection.ts";
import { internalsOf } from "./provider-internals.ts";

/** A registry that has one of its own for each use, with sessions that are ended afterwards. */
export function createEphemeralRegistry<CONNECTIONS extends Record<string, McpConnection>>({
  provider,
  principal,
}: {
  provider: ConnectionProvider<CONNECTIONS>;
  principal?: Principal | undefined;
}): ConnectionRegistry<CONNECTIONS> {
  const { declaredFor, createRegistry } = internalsOf<CONNECTIONS>(provider);
  const open = (): ConnectionRegistry =>
    createRegistry({
      declared: declaredFor(principal),
      principal,
      abortSignal: undefined,
      namedSlotFor() {
        throw new McpSessionError(
          "CONNECTION_INVALID",
          "An ephemeral registry keeps nothing under a name. Open a run of an agent session.",
          { data: { field: "named" } },
        );
      },
    }) as ConnectionRegistry;
  const withOwn = async <T>(use: (registry: ConnectionRegistry) => Promise<T>): Promise<T> => {
    const registry = open();
    try {
      return await use(registry);
    } finally {
      await registry.dispose();
    }
  };
  const registry: ConnectionRegistry = {
    connections: open().connections,
    async tools({
      connections: names = registry.connections.map(({ name }) => name),
      ...options
    } = {}) {
      const sets = names.map(async (connection) => {
        const only = { connections: [connection] };
        const listed = await withOwn((own) => own.tools({ ...options, ...only }));
        const entries = Object.entries(listed).map(([name, tool]) => {
          const execute: Execute = async (input, callOptions) =>
            await withOwn(async (own) => {
              const tools = await own.tools({ onUnavailable: "throw", ...only });
              return await (tools[name] as { execute: Execute }).execute(input, callOptions);
            });
          return [name, { ...tool, execute }] as const;
        });
        return Object.fromEntries(entries);
      });
      return Object.assign({}, ...(await Promise.all(sets))) as ToolSet;
    },
    client: async () => refuse("client"),
    fetch: () => refuse("fetch"),
    instructions: () => withOwn((own) => own.instructions()),
    call: (...call) => withOwn((own) => own.call(...call)),
    ready: (...ready) => withOwn((own) => own.ready(...ready)),
    run: async (use, options) => await open().run(use, options),
    dispose: () => Promise.resolve(),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
  return registry as ConnectionRegistry<any>;
}

function refuse(method: string): never {
  throw new McpSessionError(
    "CONNECTION_INVALID",
    `${method} outlives a call, and an ephemeral registry does not. Use it in run(), or open a run.`,
    { data: { field: "ephemeral" } },
  );
}
