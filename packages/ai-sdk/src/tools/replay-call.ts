import type { WaitingAnswer } from "@durable-mcp/core/waiting/internal";
import type { Tool } from "ai";
import type { JudgedTool } from "../connection/call-envelope.ts";

/** Makes of a kept answer what the tool's own `execute` would have made of it. Sends no call. */
export type ReplayCall = (
  answer: WaitingAnswer,
  call: { readonly input: unknown; readonly toolCallId: string },
) => Promise<unknown>;

/** The tool of a connection, and how its kept answers become results. */
interface Replay {
  readonly connection: string;
  /** As the server has listed it. */
  readonly tool: JudgedTool;
  readonly make: ReplayCall;
}

/** The member of a tool whose calls may wait. A copy of the tool has it too, under any name. */
const replayKey = Symbol("durable-mcp.replay");

export function withReplay<TOOL extends Tool>(tool: TOOL, replay: Replay | undefined): TOOL {
  return replay === undefined ? tool : { ...tool, [replayKey]: replay };
}

export function replayOf(tool: unknown): Replay | undefined {
  return (tool as { [replayKey]?: Replay } | undefined)?.[replayKey];
}
