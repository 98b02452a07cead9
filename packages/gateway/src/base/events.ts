import type { JsonRpcResponse } from "@durable-mcp/core/internal";

const encoder = new TextEncoder();

export const utf8 = (text: string): Uint8Array => encoder.encode(text);

const eventHeaders = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache, no-transform",
};

export function eventAnswer(body: ReadableStream<Uint8Array>): Response {
  // nginx holds a stream back without it.
  return new Response(body, { headers: { ...eventHeaders, "x-accel-buffering": "no" } });
}

/** An event without data: the client comes back with its id. */
export const primingEvent = (id: string) => utf8(`id: ${id}\ndata: \n\n`);

export const messageEvent = (message: JsonRpcResponse) =>
  utf8(`event: message\ndata: ${JSON.stringify(message)}\n\n`);

/** One message of JSON as an event. White space between its parts may be lines. */
export function asEvent(json: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  const lines = new Set([10, 13]);
  return json.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      start: (controller) => controller.enqueue(utf8("event: message\ndata: ")),
      transform: (chunk, controller) =>
        controller.enqueue(chunk.map((byte) => (lines.has(byte) ? 32 : byte))),
      flush: (controller) => controller.enqueue(utf8("\n\n")),
    }),
  );
}
