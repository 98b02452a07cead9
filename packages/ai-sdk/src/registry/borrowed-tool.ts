import type { ToolSet } from "ai";
import type { Execute } from "../tools/connection-tools.ts";
import type { ConnectionRegistry } from "./connection-registry.ts";

/** Calls `use` with the registry that is current, which lasts until `use` is done. */
export type Lend = <T>(use: (registry: ConnectionRegistry) => Promise<T>) => Promise<T>;

type Tool = ToolSet[string];

/**
 * A tool that calls the one of the current registry.
 *
 * @param listed the tool as it was listed
 * @param hasResults whether a call may have preliminary results
 * @param find finds the tool in another registry
 */
export function borrowTool(
  lend: Lend,
  listed: Tool,
  hasResults: boolean,
  find: (registry: ConnectionRegistry) => Promise<Tool>,
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
