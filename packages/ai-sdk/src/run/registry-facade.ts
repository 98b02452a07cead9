import { McpSessionError } from "@durable-mcp/core";
import { checkOptions } from "../base/check-options.ts";
import type { ToolSet } from "ai";
import { isStateful } from "../connection/define-connection.ts";
import type { Connections, McpConnection } from "../connection/mcp-connection.ts";
import type { ConnectionRun, RunOptions } from "./connection-registry.ts";
import { isTold } from "../events/connection-error.ts";
import type { Execute } from "../tools/connection-tools.ts";
import { mergeTools } from "../tools/same-names.ts";
import { runSchema, toolsSchema } from "./option-schemas.ts";
import { registerRegistryInternals, registryInternalsOf } from "./use-connections.ts";

/** Calls `use` with the registry that is current, which lasts until `use` is done. */
type Lend = <T>(use: (registry: ConnectionRun) => Promise<T>) => Promise<T>;

type Tool = ToolSet[string];

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
} & Pick<ConnectionRun, "client" | "fetch" | "dispose">): ConnectionRun {
  const toolsOf = createListings();

  const facade: ConnectionRun = {
    ...own,
    get connections() {
      return Object.entries(declared()).map(([name, definition]) => ({
        name,
        description: definition.options.description,
        session: sessionKind(definition),
      }));
    },
    named: {
      ...forward(lend, ({ named }) => named, namedMethods),
      run: (name, use, options) => facade.enter(({ named }) => named.run(name, use, options)),
    },
    waiting: forward(lend, ({ waiting }) => waiting, waitingMethods),
    ...forward(lend, (registry) => registry, ownMethods),
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
          const findTool = async (registry: ConnectionRun) => {
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
    enter: (use, options) => lendForRun(lend, (registry, run) => registry.enter(use, run), options),
    [Symbol.asyncDispose]: own.dispose,
  };
  registerRegistryInternals(facade, (use) =>
    lend((registry) => registryInternalsOf(registry)(use)),
  );
  return facade;
}

const namedMethods = ["create", "find", "list", "status", "restart", "clearTools", "end"] as const;
const waitingMethods = ["list", "find", "answer", "withdraw", "resume"] as const;
const ownMethods = [
  ...(["instructions", "call", "info", "status"] as const),
  ...(["restart", "clearTools", "ready"] as const),
] as const;

/** These methods, each called on the part of the current registry. */
function forward<PART extends object, NAME extends keyof PART>(
  lend: Lend,
  partOf: (registry: ConnectionRun) => PART,
  names: readonly NAME[],
): Pick<PART, NAME> {
  const entries = names.map((name) => {
    const call = (...args: unknown[]) =>
      lend(async (registry) => {
        const part = partOf(registry);
        return await Reflect.apply(part[name] as (...own: unknown[]) => unknown, part, args);
      });
    return [name, call] as const;
  });
  return Object.fromEntries(entries) as Pick<PART, NAME>;
}

/** Lists the tools of a connection, once for all calls of one registry. */
function createListings() {
  /** The tools that each registry listed, by connection. */
  const listed = new WeakMap<ConnectionRun, Map<string, Promise<ToolSet>>>();
  return async (
    registry: ConnectionRun,
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
  start: (registry: ConnectionRun, options: RunOptions) => Promise<T>,
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

/**
 * A tool that calls the one of the current registry.
 *
 * @param listed the tool as it was listed
 * @param hasResults whether a call may have preliminary results
 * @param find finds the tool in another registry
 */
function borrowTool(
  lend: Lend,
  listed: Tool,
  hasResults: boolean,
  find: (registry: ConnectionRun) => Promise<Tool>,
): Tool {
  /** The tool that was called last. It knows what the model is to be told with the result. */
  let called = listed;
  const execute: Execute = (input, options) => {
    const started = Promise.withResolvers<{ readonly own: unknown }>();
    const result = lend(async (registry) => {
      called = await find(registry);
      const own = (called as { execute: Execute }).execute(input, options);
      started.resolve({ own });
      return await own;
    });
    return hasResults ? withResults(result, started.promise) : result;
  };
  const { toModelOutput, needsApproval } = listed;
  return {
    ...listed,
    execute,
    ...(toModelOutput && {
      toModelOutput: (result: Parameters<typeof toModelOutput>[0]) =>
        (called.toModelOutput ?? toModelOutput)(result),
    }),
    ...(typeof needsApproval === "function" && {
      needsApproval: async (...call: Parameters<typeof needsApproval>) =>
        await lend(async (registry) => {
          // A server that is down is the call's affair.
          const current = (await find(registry).catch(() => listed)).needsApproval;
          return await (typeof current === "function" ? current : needsApproval)(...call);
        }),
    }),
  } as Tool;
}

/** The promise of a result, with the preliminary results before it for those who iterate. */
function withResults(result: Promise<unknown>, started: Promise<{ readonly own: unknown }>) {
  async function* results(): AsyncGenerator<unknown, void> {
    const { own } = await Promise.race([started, result.then((value) => ({ own: value }))]);
    const iterable = own as Partial<AsyncIterable<unknown>>;
    if (iterable[Symbol.asyncIterator] === undefined) yield await result;
    else yield* own as AsyncIterable<unknown>;
  }
  return Object.assign(result, { [Symbol.asyncIterator]: results });
}
