import type { UIMessageChunk } from "ai";

/** The chunks of a response, from its server-sent events. */
export function chunksOf(response: Response): ReadableStream<UIMessageChunk> {
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
