import { waitingCallOf } from "@durable-mcp/core/internal";
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

type OutputChunk = UIMessageChunk & { readonly type: "tool-output-available" };

/**
 * Lets the browser's copy of the messages see the step in which the model says nothing. A chat takes over a message
 * when a chunk changes one of its parts, and such a step has no such chunk: `useChat` would still see a last step
 * whose calls all have an output, and send by itself, again and again. So the placeholder's own chunk comes once
 * more after the start of the step, which changes nothing else.
 *
 * @param messages the UI messages of the request, with results filled in
 */
export function tellSilentStep(
  messages: readonly UIMessage[],
): TransformStream<UIMessageChunk, UIMessageChunk> {
  let placeholder = lastPlaceholder(messages.at(-1));
  return new TransformStream({
    transform(chunk, controller) {
      controller.enqueue(chunk);
      if (chunk.type === "tool-output-available" && waitingCallOf(chunk.output)) {
        placeholder = chunk;
      }
      if (chunk.type === "start-step" && placeholder !== undefined) {
        controller.enqueue(placeholder);
        placeholder = undefined;
      }
    },
  });
}

/** The chunk of the last placeholder in an assistant's message. */
function lastPlaceholder(message: UIMessage | undefined): OutputChunk | undefined {
  if (message?.role !== "assistant") return undefined;
  const part = message.parts.findLast((each) => "output" in each && waitingCallOf(each.output));
  if (part === undefined || !("toolCallId" in part)) return undefined;
  const { toolCallId, output } = part;
  const dynamic = part.type === "dynamic-tool" && { dynamic: true };
  return { type: "tool-output-available", toolCallId, output, ...dynamic };
}
