import type { ToolSet } from "ai";
import { enterScope, type RunScope } from "../run/run-scope.ts";

type Execute = (...args: unknown[]) => unknown;

/**
 * Tools whose code finds the run, wherever the agent loop calls it, because the reader of a stream need
 * not have begun in the run.
 */
export function bindTools<TOOLS extends ToolSet>(scope: RunScope | undefined, tools: TOOLS): TOOLS {
  if (scope === undefined) return tools;
  const entries = Object.entries(tools).map(([name, tool]) => {
    const { execute } = tool as { execute?: Execute };
    if (execute === undefined) return [name, tool] as const;
    const bound: Execute = (...args) => {
      const result = enterScope(scope, () => execute.apply(tool, args));
      return isAsyncIterable(result) ? bindResults(scope, result) : result;
    };
    return [name, { ...tool, execute: bound }] as const;
  });
  return Object.fromEntries(entries) as TOOLS;
}

/** A generator runs in the context of its reader. */
async function* bindResults(scope: RunScope, results: AsyncIterable<unknown>): AsyncGenerator {
  const iterator = enterScope(scope, () => results[Symbol.asyncIterator]());
  let isOpen = false;
  try {
    for (;;) {
      const next = await enterScope(scope, () => iterator.next());
      if (next.done) return next.value;
      isOpen = true;
      yield next.value;
      isOpen = false;
    }
  } finally {
    // Like `for await`: only a reader that stops early calls `return`.
    if (isOpen) await enterScope(scope, async () => await iterator.return?.());
  }
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof (value as AsyncIterable<unknown> | null)?.[Symbol.asyncIterator] === "function";
}
