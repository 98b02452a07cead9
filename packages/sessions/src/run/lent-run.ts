import { McpSessionError } from "@durable-mcp/core";
import { type Connections, describeDeclared } from "../declare/mcp-connection.ts";
import type { OfferedTool } from "../tools/offered-tool.ts";
import { checkOptions } from "../base/check-options.ts";
import { type Lend, lentMethods } from "../base/loaded-later.ts";
import type { ConnectionRun } from "./connection-run.ts";
import { createTools } from "./offer-in-run.ts";
import { type RunInternals, runInternalsOf, withInternals } from "./run-internals.ts";
import { type RunOptions, runSchema } from "./run-options.ts";
import type { FacedRun, ToolFace } from "./tool-face.ts";

/**
 * A run that borrows another one for each use. Its tools can be called even after the run that listed them
 * has ended.
 *
 * @param lend calls `use` with the current run
 * @param face of the current runs
 */
export function createLentRun(
  lend: Lend<ConnectionRun>,
  declared: () => Connections,
  own: Pick<ConnectionRun, "client" | "fetch" | "dispose">,
  face: ToolFace | undefined,
): ConnectionRun {
  const lendInternals = createLentInternals(lend);
  const enter: ConnectionRun["enter"] = (use, options) => lendForRun(lend, use, options);
  const resume: FacedRun["waiting"]["resume"] = async (messages, options) => ({
    ...(await lend((run) => (run as FacedRun).waiting.resume(messages, options))),
    // They outlive the run of the time.
    tools: options.tools,
  });
  const run: ConnectionRun = {
    ...own,
    ...lentMethods(
      [
        "instructions",
        "call",
        "info",
        "status",
        "restart",
        "clearTools",
        "ready",
        "watch",
        "unwatch",
      ],
      lend,
    ),
    ...(face && { tools: createTools(face, lendInternals) }),
    get connections() {
      return describeDeclared(declared());
    },
    named: {
      ...lentMethods(["create", "find", "list", "end"], (use) => lend(({ named }) => use(named))),
      run: (name, use, options) => enter(({ named }) => named.run(name, use, options)),
    },
    waiting: {
      ...lentMethods(["list", "find", "answer", "check", "withdraw", "news"], (use) =>
        lend(({ waiting }) => use(waiting)),
      ),
      ...(face && { resume }),
    },
    enter,
    [Symbol.asyncDispose]: own.dispose,
  };
  return withInternals(run, lendInternals);
}

type LendTool = OfferedTool["lend"];

/** The internals of a run of the time, whose tools can be called even after its end. */
function createLentInternals(lend: Lend<ConnectionRun>): Lend<RunInternals> {
  const known = new WeakMap<RunInternals, RunInternals>();
  const listings = createListings();
  const lendOwn: Lend<RunInternals> = (use) => lend((current) => runInternalsOf(current)(use));
  const lent = (of: RunInternals): RunInternals => ({
    ...of,
    async offer(options, list) {
      const offered = await of.offer(options, list);
      if (list === undefined) listings.note(of, offered);
      return offered.map((tool) =>
        lendTool(tool, (use) =>
          lendOwn(async (now) => {
            // A server need not list a stand-in, or what waits.
            const isListed = list === undefined && !tool.isStandIn;
            return await use(isListed ? await listings.find(now, tool) : now.again(tool));
          }),
        ),
      );
    },
  });
  return (use) =>
    lendOwn(async (of) => {
      const own = known.get(of) ?? lent(of);
      known.set(of, own);
      return await use(own);
    });
}

/** A tool whose calls go to the same tool of the run of the time. */
function lendTool(tool: OfferedTool, lend: LendTool): OfferedTool {
  /** The one that was called last. It knows what the model is to be told with the result. */
  let called = tool;
  const lendCalled: LendTool = (use) => lend(async (now) => await use((called = now)));
  const { needsApproval, noticeFor } = tool;
  return {
    ...tool,
    inputSchema: tool.inputSchema,
    mayRunTwice: tool.mayRunTwice,
    call: (...call) => lendCalled((now) => now.call(...call)),
    begin: (begun) => lendCalled((now) => now.begin(begun)),
    unapproved: (input) => lend((now) => now.unapproved(input)),
    noticeFor: noticeFor && ((...result) => (called.noticeFor ?? noticeFor)(...result)),
    needsApproval:
      typeof needsApproval === "function"
        ? async (...call) => {
            let isAsked = false;
            const ask = async (now: OfferedTool) => {
              isAsked = true;
              const asked = now.needsApproval;
              return await (typeof asked === "function" ? asked : needsApproval)(...call);
            };
            return await lend(ask).catch((error: unknown) => {
              if (isAsked) throw error;
              // A server that is down is the call's affair.
              return needsApproval(...call);
            });
          }
        : needsApproval,
    takeNotice: () => called.takeNotice(),
    lend: lendCalled,
  };
}

/** The tools that each run listed, by connection. All calls of one run have one listing. */
function createListings() {
  const listed = new WeakMap<RunInternals, Map<string, Promise<readonly OfferedTool[]>>>();
  const of = (run: RunInternals) => {
    const known = listed.get(run) ?? new Map<string, Promise<readonly OfferedTool[]>>();
    listed.set(run, known);
    return known;
  };
  return {
    note(run: RunInternals, tools: readonly OfferedTool[]) {
      for (const [name, own] of Map.groupBy(tools, ({ connection }) => connection))
        if (!own[0]!.isStandIn) of(run).set(name, Promise.resolve(own));
    },
    /** @throws {McpSessionError} `CONNECTION_UNAVAILABLE` for a tool that is not there any more */
    async find(run: RunInternals, { connection, name }: OfferedTool): Promise<OfferedTool> {
      const known = of(run);
      const only = { connections: [connection] };
      const listing = known.get(connection) ?? run.offer({ ...only, onUnavailable: "throw" });
      known.set(connection, listing);
      const tools = await listing.catch((error: unknown) => {
        if (known.get(connection) === listing) known.delete(connection);
        throw error;
      });
      const found = tools.find((tool) => tool.name === name);
      if (found) return found;
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
  lend: Lend<ConnectionRun>,
  use: (run: ConnectionRun) => T | PromiseLike<T>,
  options: RunOptions = {},
): Promise<T> {
  const { onClose } = checkOptions(runSchema, options);
  const given = Promise.withResolvers<T>();
  const lending = lend(async (run) => {
    const over = Promise.withResolvers<void>();
    const close = async () => {
      over.resolve();
      await onClose?.();
    };
    given.resolve(run.enter(use, { onClose: close }));
    await given.promise;
    await over.promise;
  });
  // Nothing could be lent, or the run has failed.
  lending.catch(given.reject);
  return await given.promise;
}
