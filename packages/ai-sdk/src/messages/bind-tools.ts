import type { Tool, ToolSet } from "ai";
import { waitingCallOf } from "@durable-mcp/core/internal";
import type { WaitingResult } from "@durable-mcp/core/waiting";
import { executeInRun, offeredToolOf, type RunScope } from "@durable-mcp/sessions/internal";
import { acceptWaiting, plainModelOutput, waitingModelOutput } from "../tool-set/model-output.ts";
import { idsIn } from "./placeholders.ts";

type Execute = (input: unknown, use: { readonly toolCallId: string }) => unknown;

/**
 * Tools whose code finds the run. While a call of an agent in a tool waits, its result is a placeholder. The connections'
 * own tools stay as they are.
 */
export function bindTools<TOOLS extends ToolSet>(scope: RunScope, tools: TOOLS): TOOLS {
  const entries = Object.entries(tools).map(([toolName, tool]) => {
    const { execute } = tool as { execute?: Execute };
    if (execute === undefined || offeredToolOf(tool)) return [toolName, tool] as const;
    const bound: Execute = (input, use) => {
      const call = { toolName, toolCallId: use.toolCallId, input, waitingIn: idsIn };
      return executeInRun(scope, call, () => execute.call(tool, input, use));
    };
    return [toolName, withPlaceholders({ ...tool, execute: bound } as Tool)] as const;
  });
  return Object.fromEntries(entries) as TOOLS;
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
