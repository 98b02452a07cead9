import type { WaitingAnswer } from "@durable-mcp/core/waiting/internal";
import type { Tool } from "ai";

/** Makes of a kept answer what the tool's own `execute` would have made of it. Sends no call. */
export type ReplayCall = (
  answer: WaitingAnswer,
  call: { readonly input: unknown; readonly toolCallId: string },
) => Promise<unknown>;

/** The member of a tool of a pausing connection. A copy of the tool has it too. */
const replayKey = Symbol("durable-mcp.replay");

export function withReplay<TOOL extends Tool>(tool: TOOL, replay: ReplayCall | undefined): TOOL {
  return replay === undefined ? tool : { ...tool, [replayKey]: replay };
}

export function replayOf(tool: unknown): ReplayCall | undefined {
  return (tool as { [replayKey]?: ReplayCall } | undefined)?.[replayKey];
}
