import { McpSessionError } from "@durable-mcp/core";
import { type Connections, describeDeclared } from "../declare/mcp-connection.ts";
import { connectionOf, type ToolsByName } from "../tools/same-names.ts";
import { checkOptions } from "../base/check-options.ts";
import type { ConnectionRun } from "./connection-run.ts";
import { type RunOptions, runSchema } from "./run-options.ts";
import type { FacedRun, ToolFace } from "./tool-face.ts";
import { runInternalsOf, withInternals } from "./use-connections.ts";

/** Calls `use` with the run of the time, which lasts until `use` is done. */
type Lend = <T>(use: (run: ConnectionRun) => Promise<T>) => Promise<T>;

/**
 * A run that borrows another one for each use. Its tools can be called even after the run that listed them
 * has ended.
 *
 * @param lend calls `use` with the current run
 * @param face of the current runs
 */
export function createLentRun(
  lend: Lend,
  declared: () => Connections,
  own: Pick<ConnectionRun, "client" | "fetch" | "dispose">,
  face: ToolFace | undefined,
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
  const faced = face && lendFace(lend, face);
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
      ...(faced && { resume: faced.resume }),
    },
    ...forward((current) => current, ownMethods),
    ...(faced && { tools: faced.tools }),
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

/** What a face has made of the run of the time. */
function lendFace(
  lend: Lend,
  face: ToolFace,
): Pick<FacedRun, "tools"> & Pick<FacedRun["waiting"], "resume"> {
  const listings = createListings();
  const lendFaced = <T>(use: (run: FacedRun) => Promise<T>) =>
    lend((current) => use(current as FacedRun));
  return {
    tools: async (options) =>
      await lendFaced(async (current) => {
        const tools = await current.tools(options);
        listings.note(current, tools);
        const entries = Object.entries(tools).map(([name, tool]) => {
          const connection = connectionOf(tool);
          // A stand-in needs no connection.
          if (connection === undefined) return [name, tool] as const;
          const borrowed = face.borrow(tool, (use) =>
            lendFaced(async (of) => await use(() => listings.find(of, connection, name))),
          );
          return [name, borrowed] as const;
        });
        return Object.fromEntries(entries);
      }),
    async resume(messages, options) {
      const resumed = await lendFaced(({ waiting }) => waiting.resume(messages, options));
      // They outlive the run of the time.
      return { ...resumed, tools: options.tools };
    },
  };
}

/** The tools that each run listed, by connection. All calls of one run have one listing. */
function createListings() {
  const listed = new WeakMap<FacedRun, Map<string, Promise<ToolsByName>>>();
  const of = (run: FacedRun) => {
    const known = listed.get(run) ?? new Map<string, Promise<ToolsByName>>();
    listed.set(run, known);
    return known;
  };
  return {
    note(run: FacedRun, tools: ToolsByName) {
      const byConnection = Map.groupBy(Object.entries(tools), ([, tool]) => connectionOf(tool));
      for (const [connection, entries] of byConnection) {
        if (connection === undefined) continue;
        of(run).set(connection, Promise.resolve(Object.fromEntries(entries)));
      }
    },
    /** @throws {McpSessionError} `CONNECTION_UNAVAILABLE` for a tool that is not there any more */
    async find(run: FacedRun, connection: string, name: string): Promise<object> {
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
