import { checkOptions } from "../base/check-options.ts";
import { mergeTools, type ToolsByName } from "../tools/same-names.ts";
import type { RunLifetime } from "./run-lifetime.ts";
import { toolsSchema } from "./run-options.ts";
import type { FacedRun, ToolFace, ToolsOptions } from "./tool-face.ts";
import type { RunInternals } from "./use-connections.ts";

interface ListingParts extends Pick<RunInternals, "collect" | "emit"> {
  /** All connections of the run. */
  readonly names: readonly string[];
  readonly lifetime: RunLifetime;
}

/** Lists the tools of a run as its face makes them. */
export function createToolListing(
  face: ToolFace,
  { names: all, lifetime, collect, emit }: ListingParts,
) {
  /** A step may begin with a listing, which the first `tools()` then returns. */
  let first: ToolsByName | undefined;
  const list = async (options: ToolsOptions = {}): Promise<ToolsByName> => {
    const { connections: names = all, onUnavailable = "omit" } = checkOptions(toolsSchema, options);
    const sets = await collect(
      [...new Set(names)],
      async (connection) => ({
        connection: connection.name,
        tools: await face.list(connection),
        isDown: false,
      }),
      onUnavailable,
      async (connection, startUrl) => ({
        connection: connection.name,
        tools: await face.standIn(connection, startUrl),
        isDown: true,
      }),
    );
    return mergeTools(sets, { onUnavailable, emit });
  };
  // Its declaration has to be one for AI SDK 6, too.
  const tools: FacedRun["tools"] = async (options) => {
    const begun = options === undefined ? first : undefined;
    if (begun === undefined) return await list(options);
    lifetime.throwIfOver();
    first = undefined;
    return begun;
  };
  const begin: RunInternals["begin"] = async (onUnavailable) => {
    first = await list({ onUnavailable });
  };
  return {
    ...{ tools, begin },
    /** Has the tools listed anew. */
    forgetFirst: () => void (first = undefined),
  };
}
