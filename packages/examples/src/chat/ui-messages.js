// AI SDK's UI messages and their stream, as much of both as the page needs.

/** The message that a stream goes on with: the last one, if the assistant's, or a new one. */
export function messageToGoOn(messages) {
  if (messages.at(-1)?.role !== "assistant")
    messages.push({ id: crypto.randomUUID(), role: "assistant", parts: [] });
  return messages.at(-1);
}

/** Adds a chunk to the last message. A call's result finds its place in any message. */
export function addChunk(messages, chunk) {
  const { parts } = messages.at(-1);
  const call = messages
    .flatMap((message) => message.parts)
    .findLast(({ toolCallId }) => toolCallId !== undefined && toolCallId === chunk.toolCallId);
  switch (chunk.type) {
    case "start-step":
      parts.push({ type: "step-start" });
      break;
    case "text-start":
      parts.push({ type: "text", text: "" });
      break;
    case "text-delta":
      parts.at(-1).text += chunk.delta;
      break;
    case "tool-input-available": {
      const { toolCallId, toolName, input } = chunk;
      const state = "input-available";
      parts.push({ type: "dynamic-tool", toolCallId, toolName, input, state });
      break;
    }
    case "tool-output-available":
      // A preliminary result makes place for the next one, and a placeholder for the result.
      Object.assign(call, {
        state: "output-available",
        output: chunk.output,
        preliminary: chunk.preliminary,
      });
      break;
    case "tool-output-error":
      delete call.output;
      Object.assign(call, { state: "output-error", errorText: chunk.errorText });
      break;
    case "error":
      parts.push({ type: "text", text: chunk.errorText });
      break;
    default:
  }
}

/** The call that waits for a person, if a part has a placeholder in the place of its result. */
export const waitingCallOf = ({ output }) => output?.["_meta"]?.["durable-mcp/waiting"];

/** The chunks of a response, from its server-sent events. */
export async function* chunksOf(response) {
  let rest = "";
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const events = (rest + value).split("\n\n");
    rest = events.pop();
    for (const event of events) {
      const data = event.replace(/^data: /, "");
      if (data.startsWith("{")) yield JSON.parse(data);
    }
  }
}
