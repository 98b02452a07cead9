import type { Tool, ToolSet } from "ai";
import { waitingCallOf } from "@durable-mcp/core/internal";
import type { WaitingResult } from "@durable-mcp/core/waiting";
import {
  isAsyncIterable,
  resultsInContext,
  enterScope,
  type RunScope,
  runInternalsOf,
  sayThatTheyWait,
  type StoredCalls,
  keepAgents,
} from "@durable-mcp/sessions/internal";
import { acceptWaiting, plainModelOutput, waitingModelOutput } from "../tool-set/model-output.ts";
import { idsIn } from "./placeholders.ts";

type Execute = (input: unknown, use: { readonly toolCallId: string }) => unknown;

/**
 * Tools whose code finds the run, wherever the agent loop calls it, because the reader of a stream need
 * not have begun in the run. While a call of an agent in a tool waits, its result is a placeholder. The connections'
 * own tools stay as they are.
 */
export function bindTools<TOOLS extends ToolSet>(scope: RunScope | undefined, tools: TOOLS): TOOLS {
  if (scope === undefined) return tools;
  const entries = Object.entries(tools).map(([toolName, tool]) => {
    const { execute } = tool as { execute?: Execute };
    if (execute === undefined || sayThatTheyWait(tool)) return [toolName, tool] as const;
    const bound: Execute = (input, use) => {
      const call = { toolName, toolCallId: use.toolCallId, input, ...inRun(scope) };
      const result = enterScope(scope, () =>
        keepAgents(call, () => execute.call(tool, input, use)),
      );
      const enter = <T>(next: () => T) => enterScope(scope, next);
      return isAsyncIterable(result) ? resultsInContext(enter, result) : result;
    };
    return [toolName, withPlaceholders({ ...tool, execute: bound } as Tool)] as const;
  });
  return Object.fromEntries(entries) as TOOLS;
}

/** What a call of a tool has of the run in which it is made. */
export function inRun(
  scope: RunScope | undefined,
): Pick<Parameters<typeof keepAgents>[0], "withStored" | "waitingIn" | "repeats"> {
  const withStored = async <T>(use: (stored: StoredCalls | undefined) => Promise<T>) =>
    await (scope ? runInternalsOf(scope.run)(({ stored }) => use(stored)) : use(undefined));
  return { withStored, waitingIn: idsIn, repeats: scope?.repeats };
}

/** A tool of the application's whose result may be a placeholder. */
export function withPlaceholders<TOOL extends Tool>(tool: TOOL): TOOL {
  const { outputSchema, toModelOutput } = tool;
  return {
    ...tool,
    ...(outputSchema && { outputSchema: acceptWaiting(outputSchema) }),
    toModelOutput: (result: Parameters<NonNullable<typeof toModelOutput>>[0]) => {
      if (waitingCallOf(result.output)) return waitingModelOutput(result.output as WaitingResult);
      return toModelOutput?.(result) ?? plainModelOutput(result.output);
    },
  };
}
