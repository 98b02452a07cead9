import { McpSessionError } from "@durable-mcp/core";
import type { ToolSet } from "ai";
import type { Connections } from "../connection/mcp-connection.ts";
import type { Execute } from "../tools/connection-tools.ts";
import { connectionOf } from "../tools/same-names.ts";
import { checkOptions } from "../base/check-options.ts";
import type { ConnectionRun } from "./connection-run.ts";
import { describeDeclared } from "./create-run.ts";
import { type RunOptions, runSchema } from "./run-options.ts";
import { runInternalsOf, withInternals } from "./use-connections.ts";

/** Calls `use` with the run of the time, which lasts until `use` is done. */
type Lend = <T>(use: (run: ConnectionRun) => Promise<T>) => Promise<T>;

type Tool = ToolSet[string];

/**
 * A run that borrows another one for each use. Its tools can be called even after the run that listed them
 * has ended.
 *
 * @param lend calls `use` with the current run
 */
export function createLentRun(
  lend: Lend,
  declared: () => Connections,
  own: Pick<ConnectionRun, "client" | "fetch" | "dispose">,
): ConnectionRun {
  /** These methods, each called on the part of the current run. */
  const forward = <PART extends object, NAME extends keyof PART>(
    partOf: (run: ConnectionRun) => PART,
    names: readonly NAME[],
  ) => {
    const entries = names.map((name) => {
      const call = (...args: unknown[]) =>
        lend(async (run) => await (partOf(run)[name] as Method)(...args));
      return [name, call] as const;
    });
    return Object.fromEntries(entries) as Pick<PART, NAME>;
  };
  const listings = createListings();
  const enter: ConnectionRun["enter"] = (use, options) => lendForRun(lend, use, options);
  const run: ConnectionRun = {
    ...own,
    get connections() {
      return describeDeclared(declared());
    },
    named: {
      ...forward((current) => current.named, namedMethods),
      run: (name, use, options) => enter(({ named }) => named.run(name, use, options)),
    },
    waiting: {
      ...forward((current) => current.waiting, waitingMethods),
      async resume(messages, options) {
        const resumed = await lend((current) => current.waiting.resume(messages, options));
        // They outlive the run of the time.
        return { ...resumed, tools: options.tools };
      },
    },
    ...forward((current) => current, ownMethods),
    tools: async (options) =>
      await lend(async (current) => {
        const tools = await current.tools(options);
        listings.note(current, tools);
        const entries = Object.entries(tools).map(([name, tool]) => {
          const connection = connectionOf(tool);
          // A stand-in needs no connection.
          if (connection === undefined) return [name, tool] as const;
          return [
            name,
            borrowTool(lend, tool, (of) => listings.find(of, connection, name)),
          ] as const;
        });
        return Object.fromEntries(entries);
      }),
    enter,
    [Symbol.asyncDispose]: own.dispose,
  };
  return withInternals(run, (use) => lend((current) => runInternalsOf(current)(use)));
}

type Method = (...args: unknown[]) => unknown;
const namedMethods = ["create", "find", "list", "end"] as const;
const waitingMethods = ["list", "find", "answer", "check", "withdraw"] as const;
const ownMethods = [
  ...(["instructions", "call", "info", "status"] as const),
  ...(["restart", "clearTools", "ready"] as const),
] as const;

/** The tools that each run listed, by connection. All calls of one run have one listing. */
function createListings() {
  const listed = new WeakMap<ConnectionRun, Map<string, Promise<ToolSet>>>();
  const of = (run: ConnectionRun) => {
    const known = listed.get(run) ?? new Map<string, Promise<ToolSet>>();
    listed.set(run, known);
    return known;
  };
  return {
    note(run: ConnectionRun, tools: ToolSet) {
      const byConnection = Map.groupBy(Object.entries(tools), ([, tool]) => connectionOf(tool));
      for (const [connection, entries] of byConnection) {
        if (connection === undefined) continue;
        of(run).set(connection, Promise.resolve(Object.fromEntries(entries)));
      }
    },
    /** @throws {McpSessionError} `CONNECTION_UNAVAILABLE` for a tool that is not there any more */
    async find(run: ConnectionRun, connection: string, name: string): Promise<Tool> {
      const known = of(run);
      const only = { connections: [connection] };
      const listing = known.get(connection) ?? run.tools({ ...only, onUnavailable: "throw" });
      known.set(connection, listing);
      const tools = await listing.catch((error: unknown) => {
        if (known.get(connection) === listing) known.delete(connection);
        throw error;
      });
      if (Object.hasOwn(tools, name)) return tools[name]!;
      throw new McpSessionError(
        "CONNECTION_UNAVAILABLE",
        `Connection ${connection}: its server does not offer ${name} any more. List the tools again.`,
        { data: { connection } },
      );
    },
  };
}

/** Lends a run until it is over, which is later than its call if it gives back a stream. */
async function lendForRun<T>(
  lend: Lend,
  use: (run: ConnectionRun) => T | PromiseLike<T>,
  options: RunOptions = {},
): Promise<T> {
  const { onClose } = checkOptions(runSchema, options);
  const given = Promise.withResolvers<T>();
  const lending = lend(async (run) => {
    const over = Promise.withResolvers<void>();
    const running = run.enter(use, {
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

/**
 * A tool that calls the one of the current run.
 *
 * @param listed the tool as it was listed
 * @param find finds the tool in another run
 */
function borrowTool(lend: Lend, listed: Tool, find: (run: ConnectionRun) => Promise<Tool>): Tool {
  /** The tool that was called last. It knows what the model is to be told with the result. */
  let called = listed;
  const execute: Execute = (input, options) =>
    lend(async (run) => {
      called = await find(run);
      return await (called as { execute: Execute }).execute(input, options);
    });
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
        await lend(async (run) => {
          // A server that is down is the call's affair.
          const current = (await find(run).catch(() => listed)).needsApproval;
          return await (typeof current === "function" ? current : needsApproval)(...call);
        }),
    }),
  } as Tool;
}
