import { readUIMessageStream, type UIMessage, type UIMessageChunk } from "ai";

/** The chunks of a response, from its server-sent events. */
function chunksOf(response: Response): ReadableStream<UIMessageChunk> {
  let rest = "";
  return response.body!.pipeThrough(new TextDecoderStream()).pipeThrough(
    new TransformStream<string, UIMessageChunk>({
      transform(text, controller) {
        const events = (rest + text).split("\n\n");
        rest = events.pop()!;
        for (const event of events) {
          const data = event.replace(/^data: /, "");
          if (data !== "[DONE]") controller.enqueue(JSON.parse(data) as UIMessageChunk);
        }
      },
    }),
  );
}

/** Takes an answer into the messages, as a browser does. Gives its chunks. */
export async function takeAnswer(
  messages: UIMessage[],
  response: Response,
): Promise<UIMessageChunk[]> {
  const chunks: UIMessageChunk[] = [];
  const noted = new TransformStream<UIMessageChunk, UIMessageChunk>({
    transform(chunk, controller) {
      chunks.push(chunk);
      controller.enqueue(chunk);
    },
  });
  const stream = chunksOf(response).pipeThrough(noted);
  const last = messages.at(-1);
  const message = last?.role === "assistant" ? last : undefined;
  let answer: UIMessage | undefined;
  for await (const state of readUIMessageStream({ stream, ...(message && { message }) })) {
    answer = state;
  }
  if (message) messages.pop();
  messages.push(answer!);
  return chunks;
}
