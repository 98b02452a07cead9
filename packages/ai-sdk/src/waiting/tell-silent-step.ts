import type { UIMessage, UIMessageChunk } from "ai";
import { waitingCallOf } from "./waiting-call.ts";

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
