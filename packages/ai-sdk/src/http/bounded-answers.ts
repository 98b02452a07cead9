import {
  createEventSplitter,
  isEventStream,
  MAX_MESSAGE_BYTES,
  tooLarge,
} from "@durable-mcp/core/internal";

type Fetch = typeof globalThis.fetch;

/**
 * The fetch of a connection without a session fetch, which has bounds of its own. No message of an answer is
 * longer than `maxBytes` bytes after decompression: neither an event nor a body of JSON. Beyond that, the
 * answer breaks off with `OUTCOME_UNKNOWN`.
 */
export function withBounds(fetch: Fetch, maxBytes = MAX_MESSAGE_BYTES): Fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    if (!response.ok || response.body === null) return response;
    const { status, statusText, headers } = response;
    const splitter = isEventStream(response) ? createEventSplitter() : undefined;
    let bytes = 0;
    const bounded = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        splitter?.push(chunk);
        bytes = splitter?.pendingBytes ?? bytes + chunk.length;
        if (bytes > maxBytes) throw tooLarge(maxBytes);
        controller.enqueue(chunk);
      },
    });
    return new Response(response.body.pipeThrough(bounded), { status, statusText, headers });
  };
}
