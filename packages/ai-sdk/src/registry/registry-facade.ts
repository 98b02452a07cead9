import { McpSessionError } from "@durable-mcp/core";
import { checkOptions } from "../base/check-options.ts";
import type { ToolSet } from "ai";
import type { ConnectionRegistry } from "./connection-registry.ts";
import { isTold } from "../errors/unavailable-event.ts";
import type { Execute } from "../tools/connection-tools.ts";
import { toolsSchema } from "./option-schemas.ts";

/**
 * A registry that borrows another one for each use. Its tools can be called even after the registry
 * that listed them has ended.
 *
 * @param options.lend calls `use` with the current registry
 */
export function createRegistryFacade({
  lend,
  example,
  ...own
}: {
  lend: <T>(use: (registry: ConnectionRegistry) => Promise<T>) => Promise<T>;
  /** A registry that is only read. */
  example: () => ConnectionRegistry;
} & Pick<ConnectionRegistry, "client" | "fetch" | "dispose">): ConnectionRegistry {
  /** The tools that each registry listed, by connection. */
  const listed = new WeakMap<ConnectionRegistry, Map<string, Promise<ToolSet>>>();
  const toolsOf = async (
    registry: ConnectionRegistry,
    connection: string,
    onUnavailable: "omit" | "throw",
    use: "list" | "call",
  ): Promise<ToolSet> => {
    const known = listed.get(registry) ?? new Map<string, Promise<ToolSet>>();
    listed.set(registry, known);
    const only = { connections: [connection] };
    // The list may have changed since; a call only needs the tool.
    const found = use === "call" ? known.get(connection) : undefined;
    const listing = found ?? registry.tools({ onUnavailable: "throw", ...only });
    known.set(connection, listing);
    try {
      return await listing;
    } catch (error) {
      if (known.get(connection) === listing) known.delete(connection);
      // Other failures are none of the connection: the step was over, or there is no such connection.
      if (onUnavailable === "throw" || !isTold(error)) throw error;
      return {};
    }
  };

  return {
    ...own,
    get connections() {
      return example().connections;
    },
    get named() {
      return example().named;
    },
    async tools(given = {}) {
      const {
        connections: names = example().connections.map(({ name }) => name),
        onUnavailable = "omit",
      } = checkOptions(toolsSchema, given);
      const sets = names.map(async (connection) => {
        const tools = await lend((registry) =>
          toolsOf(registry, connection, onUnavailable, "list"),
        );
        const entries = Object.entries(tools).map(([name, tool]) => {
          const execute: Execute = async (input, options) =>
            await lend(async (registry) => {
              const current = await toolsOf(registry, connection, "throw", "call");
              if (!Object.hasOwn(current, name)) throw noSuchTool(connection, name);
              return await (current[name] as { execute: Execute }).execute(input, options);
            });
          return [name, { ...tool, execute }] as const;
        });
        return Object.fromEntries(entries);
      });
      return Object.assign({}, ...(await Promise.all(sets))) as ToolSet;
    },
    instructions: () => lend((registry) => registry.instructions()),
    call: (...call) => lend((registry) => registry.call(...call)),
    ready: (...ready) => lend((registry) => registry.ready(...ready)),
    run: (use, options) => lend((registry) => registry.run(use, options)),
    [Symbol.asyncDispose]: own.dispose,
  };
}

function noSuchTool(connection: string, name: string): McpSessionError {
  return new McpSessionError(
    "CONNECTION_UNAVAILABLE",
    `Connection ${connection}: its server does not offer ${name} any more. List the tools again.`,
    { data: { connection } },
  );
}
