import { McpSessionError } from "@durable-mcp/core";
import { checkOptions } from "../base/check-options.ts";
import type { ToolSet } from "ai";
import { isStateful } from "../connection/define-connection.ts";
import type { Connections, McpConnection } from "../connection/mcp-connection.ts";
import { borrowTool, type Lend } from "./borrowed-tool.ts";
import type { ConnectionRegistry, RunOptions } from "./connection-registry.ts";
import { isTold } from "../errors/unavailable-event.ts";
import { mergeTools } from "../tools/same-names.ts";
import { runSchema, toolsSchema } from "./option-schemas.ts";
import { registerRegistryInternals, registryInternalsOf } from "./registry-internals.ts";

/**
 * A registry that borrows another one for each use. Its tools can be called even after the registry
 * that listed them has ended.
 *
 * @param options.lend calls `use` with the current registry
 */
export function createRegistryFacade({
  lend,
  declared,
  ...own
}: {
  lend: Lend;
  declared: () => Connections;
} & Pick<ConnectionRegistry, "client" | "fetch" | "dispose">): ConnectionRegistry {
  const toolsOf = createListings();

  const facade: ConnectionRegistry = {
    ...own,
    get connections() {
      return Object.entries(declared()).map(([name, definition]) => ({
        name,
        description: definition.options.description,
        session: sessionKind(definition),
      }));
    },
    named: {
      create: (...creation) => lend(({ named }) => named.create(...creation)),
      find: (name) => lend(({ named }) => named.find(name)),
      list: () => lend(({ named }) => named.list()),
      run: (name, use, options) => facade.run(({ named }) => named.run(name, use, options)),
      status: (...status) => lend(({ named }) => named.status(...status)),
      restart: (name) => lend(({ named }) => named.restart(name)),
      clearTools: (name) => lend(({ named }) => named.clearTools(name)),
      end: (name) => lend(({ named }) => named.end(name)),
    },
    async tools(given = {}) {
      const { connections: names = Object.keys(declared()), onUnavailable = "omit" } = checkOptions(
        toolsSchema,
        given,
      );
      const sets = [...new Set(names)].map(async (connection) => {
        const tools = await lend((registry) =>
          toolsOf(registry, connection, onUnavailable, "list"),
        );
        const hasResults = declared()[connection]?.options.preliminaryResults === true;
        const entries = Object.entries(tools).map(([name, tool]) => {
          const findTool = async (registry: ConnectionRegistry) => {
            const current = await toolsOf(registry, connection, "throw", "call");
            if (!Object.hasOwn(current, name)) throw noSuchTool(connection, name);
            return current[name]!;
          };
          return [name, borrowTool(lend, tool, hasResults, findTool)] as const;
        });
        return { connection, tools: Object.fromEntries(entries) };
      });
      const listed = await Promise.all(sets);
      return await registryInternalsOf(facade)(async ({ emit }) =>
        mergeTools(listed, { onUnavailable, emit }),
      );
    },
    waiting: {
      list: () => lend(({ waiting }) => waiting.list()),
      find: (id) => lend(({ waiting }) => waiting.find(id)),
      answer: (...answer) => lend(({ waiting }) => waiting.answer(...answer)),
      withdraw: (id) => lend(({ waiting }) => waiting.withdraw(id)),
      resume: (...resume) => lend(({ waiting }) => waiting.resume(...resume)),
    },
    instructions: () => lend((registry) => registry.instructions()),
    call: (...call) => lend((registry) => registry.call(...call)),
    info: () => lend((registry) => registry.info()),
    status: (...status) => lend((registry) => registry.status(...status)),
    restart: (...restart) => lend((registry) => registry.restart(...restart)),
    clearTools: (connection) => lend((registry) => registry.clearTools(connection)),
    ready: (...ready) => lend((registry) => registry.ready(...ready)),
    run: (use, options) => lendForRun(lend, (registry, run) => registry.run(use, run), options),
    [Symbol.asyncDispose]: own.dispose,
  };
  registerRegistryInternals(facade, (use) =>
    lend((registry) => registryInternalsOf(registry)(use)),
  );
  return facade;
}

/** Lists the tools of a connection, once for all calls of one registry. */
function createListings() {
  /** The tools that each registry listed, by connection. */
  const listed = new WeakMap<ConnectionRegistry, Map<string, Promise<ToolSet>>>();
  return async (
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
}

function sessionKind(definition: McpConnection): "stateful" | "stateless" | "process" {
  if (definition.type === "mcp-stdio") return "process";
  return isStateful(definition) ? "stateful" : "stateless";
}

/** Lends a registry to a run, which lasts longer than its call if it gives back a stream. */
async function lendForRun<T>(
  lend: Lend,
  start: (registry: ConnectionRegistry, options: RunOptions) => Promise<T>,
  options: RunOptions = {},
): Promise<T> {
  const { onClose } = checkOptions(runSchema, options);
  const given = Promise.withResolvers<T>();
  const lending = lend(async (registry) => {
    const over = Promise.withResolvers<void>();
    const running = start(registry, {
      async onClose() {
        over.resolve();
        await onClose?.();
      },
    });
    given.resolve(running);
    await running;
    await over.promise;
  });
  // Nothing could be lent, or the run has failed.
  lending.catch(given.reject);
  return await given.promise;
}

function noSuchTool(connection: string, name: string): McpSessionError {
  return new McpSessionError(
    "CONNECTION_UNAVAILABLE",
    `Connection ${connection}: its server does not offer ${name} any more. List the tools again.`,
    { data: { connection } },
  );
}
