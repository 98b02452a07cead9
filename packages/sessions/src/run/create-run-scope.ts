import { loadedLater } from "../base/loaded-later.ts";
import { createRun, type RunParts } from "./create-run.ts";
import type { StepParts } from "./nested-run.ts";
import type { RunScope } from "./run-scope.ts";

/** Makes a run, in which other runs can be nested. Few steps nest or name: that code is loaded then. */
export function createRunScope(parts: StepParts, run: RunParts): RunScope {
  const nest: RunScope["nest"] = async (options) => {
    const { createNestedRun } = await import("./nested-run.ts");
    return createRunScope(parts, await createNestedRun(parts, run, options));
  };
  const { namedSlots: slots, namedConnections } = parts;
  const named = loadedLater(["create", "find", "list", "run", "end"], async () => {
    const { createNamedSessions } = await import("./named-sessions.ts");
    return createNamedSessions({ ...run, slots, live: await namedConnections(), nest });
  });
  return { run: createRun(run, { named, nest }), nest };
}
