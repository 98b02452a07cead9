import type { UIMessage, UIMessageChunk } from "ai";

/**
 * The chunks of a UI message stream that give the browser's copy of the messages the results. A stream only reaches the
 * last message. Where that is no assistant's message there are none: the older places are filled in again with each
 * request. Write them before the agent's stream.
 *
 * @param messages the UI messages as they came from the browser
 * @param filled what `fillIn` made of them
 */
export function resumedChunks(
  messages: readonly UIMessage[],
  filled: readonly UIMessage[],
): UIMessageChunk[] {
  const [before, after] = [messages.at(-1), filled.at(-1)];
  if (before?.role !== "assistant" || after === undefined || before === after) return [];
  return after.parts.flatMap((part, index): UIMessageChunk[] => {
    if (part === before.parts[index] || !("toolCallId" in part)) return [];
    const { toolCallId } = part;
    // A chunk finds its part by this id, which models may use again.
    if (before.parts.filter((each) => hasId(each, toolCallId)).length !== 1) return [];
    const call = { toolCallId, ...(part.type === "dynamic-tool" && { dynamic: true }) };
    if (part.state === "output-error") {
      return [{ type: "tool-output-error", ...call, errorText: part.errorText }];
    }
    if (part.state !== "output-available") return [];
    return [{ type: "tool-output-available", ...call, output: part.output }];
  });
}

function hasId(part: object, toolCallId: string): boolean {
  return "toolCallId" in part && part.toolCallId === toolCallId;
}
