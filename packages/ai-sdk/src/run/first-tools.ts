import { checkOptions } from "../base/check-options.ts";
import { mergeTools } from "../tools/same-names.ts";
import type { ConnectionRun } from "./connection-registry.ts";
import { toolsSchema } from "./option-schemas.ts";
import { listTools, type UsedConnections } from "./use-connections.ts";

/**
 * The `tools` of a run. A step may begin with a listing, which the first `tools()` then returns.
 *
 * @param allNames the names of the connections
 * @param throwIfOver throws when the run is over
 */
export function createFirstTools(
  { collect, emit }: UsedConnections,
  allNames: readonly string[],
  throwIfOver: () => void,
) {
  let first: object | undefined;
  const list: ConnectionRun<any>["tools"] = async (options = {}) => {
    const { connections: names = allNames, onUnavailable = "omit" } = checkOptions(
      toolsSchema,
      options,
    );
    const sets = await collect(
      [...new Set(names)],
      async (connection) => await listTools(connection, onUnavailable),
      onUnavailable,
    );
    return mergeTools(sets, { onUnavailable, emit });
  };
  const tools: ConnectionRun<any>["tools"] = async (options) => {
    const found = options === undefined ? first : undefined;
    if (found === undefined) return await list(options);
    throwIfOver();
    first = undefined;
    return found as Awaited<ReturnType<typeof list>>;
  };
  return {
    tools,
    begin: async (onUnavailable: "omit" | "throw" | undefined): Promise<void> => {
      first = await list({ onUnavailable });
    },
    /** The act, after which tools are listed anew. */
    forgetting:
      <ARGS extends unknown[], RESULT>(act: (...args: ARGS) => Promise<RESULT>) =>
      async (...args: ARGS): Promise<RESULT> => {
        first = undefined;
        return await act(...args);
      },
  };
}
