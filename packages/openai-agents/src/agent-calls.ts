import { waitingCallOf } from "@durable-mcp/core/waiting";
import type { CallToolResult, OfferedTool } from "@durable-mcp/sessions";
import type { AgentsRun, OfferedTools } from "./agents-sessions.ts";
import { agentsNameOf, jsonIn, type SavedCall } from "./saved-run.ts";

export type ModelCall = Pick<SavedCall, "toolName" | "callId" | "input">;

/** Models of agents in tools may give their calls the same id. */
export const keyOf = ({ toolName, callId, input }: ModelCall): string =>
  JSON.stringify([agentsNameOf(toolName), callId, input]);

export const noObject = "The arguments are no JSON object. The call was not made.";

/** The call in an item of OpenAI Agents. */
export function callIn(item: object): ModelCall {
  const { name = "", callId = "", arguments: text = "" } = item as Record<string, string>;
  return { toolName: name, callId, input: jsonIn(text) };
}

export const isHeld = ({ state }: SavedCall): boolean => state !== "over";

/** A call that is over, with what the model reads. */
export const over = (call: ModelCall, output: SavedCall["output"]): SavedCall =>
  Object.assign({ ...call }, { state: "over", output } as const);

/** Goes on with those of these calls that wait, if it can. @returns all as they are then */
export async function resumeCalls(run: AgentsRun, tools: OfferedTools, all: readonly SavedCall[]) {
  const waits = all.filter(({ state }) => state === "waits");
  if (waits.length === 0) return all;
  const places = waits.map((call) => ({ ...call, toolCallId: call.callId, id: call.id! }));
  const { ends } = await run.waiting.resume(places, { tools });
  return all.map((call) => {
    const end = ends[waits.indexOf(call)];
    if (end === undefined || end.state === "waits") return call;
    return over(call, end.state === "over" ? outputOf(end.output, end.notice) : String(end.error));
  });
}

/** Makes a call for a model. Never rejects: the model reads why it failed. */
export async function makeCall(tool: OfferedTool | undefined, call: ModelCall): Promise<SavedCall> {
  if (tool === undefined) return over(call, "There is no such tool now. Nothing was done.");
  const { callId: toolCallId, input } = call;
  try {
    const result = await tool.call(input, { toolCallId });
    const waiting = waitingCallOf(result);
    if (waiting) return { ...call, state: "waits", id: waiting.id };
    return over(call, outputOf(result, tool.noticeFor?.(result, toolCallId)));
  } catch (error) {
    return over(call, String(error));
  }
}

/** What a model reads of a result, and of the loss of a session: a text, or parts in the form of OpenAI Agents. */
function outputOf(result: unknown, notice?: string): SavedCall["output"] {
  // The stand-in of a sign-in gives a text where no call can wait.
  if (typeof result === "string") return result;
  const { content = [] } = result as CallToolResult;
  const parts = [...content, ...(notice === undefined ? [] : [{ type: "text", text: notice }])];
  const outputs = parts.map((part) => {
    const { type, text, data, mimeType } = part as Readonly<Record<string, unknown>>;
    if (type === "image") return { type, image: `data:${String(mimeType)};base64,${String(data)}` };
    return { type: "text", text: type === "text" ? String(text) : JSON.stringify(part) };
  });
  const texts = outputs.flatMap(({ text }) => text ?? []);
  return texts.length === outputs.length ? texts.join("\n") : outputs;
}
