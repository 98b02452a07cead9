import type { Lend } from "../base/loaded-later.ts";
import type { OnSession, Resumption } from "../waiting/resumption.ts";
import type { ConnectionRun } from "./connection-run.ts";
import type { ToolOffers } from "./offer-in-run.ts";
import { runNested, type RunScope } from "./run-scope.ts";
import type { ConnectionUses } from "./use-connections.ts";

/** The parts of a run that this project needs beyond its interface. */
export interface RunInternals extends ToolOffers, Pick<ConnectionUses, "find"> {
  readonly scope: RunScope;
  /** The run's part in a conversation with calls that wait. */
  readonly resumption: Resumption;
  /** Connects what the step needs, and says what it does without the others. */
  readonly begin: (onUnavailable: "omit" | "throw" | undefined) => Promise<void>;
}

/** The member of a run with its internals. A copy of the run has it too. One that borrows others lends theirs. */
const internalsKey = Symbol("durable-mcp.run");

export function withInternals<RUN extends object>(run: RUN, lend: Lend<RunInternals>): RUN {
  return Object.assign(run, { [internalsKey]: lend });
}

/** @throws {TypeError} for a run of another copy of this package */
export function runInternalsOf(run: ConnectionRun<any>): Lend<RunInternals> {
  const found = (run as { [internalsKey]?: Lend<RunInternals> })[internalsKey];
  if (found !== undefined) return found;
  throw new TypeError(
    "The run was not made by this copy of @durable-mcp/sessions. Install that package once.",
  );
}

/** Finds a connection on a named or shared session, in a run inside this one. */
export function onSessionIn(around: Pick<RunScope, "nest">): OnSession {
  return async (connection, { name = "", shared }, use) => {
    const modes = { [connection]: shared === undefined ? { named: name } : { shared } };
    return await runNested(around, { modes }, async (run) =>
      runInternalsOf(run)(async ({ find }) => await use(find(connection))),
    );
  };
}
