// What the session fetch could do instead: print the answers again. For comparison only.
import { createParser } from "eventsource-parser";

/** Gives each request an id of its own, and lets `restore` put the client's back. */
function withWireIds(
  fetch: typeof globalThis.fetch,
  restore: (response: Response, wireId: string, id: unknown) => Promise<Response>,
): typeof globalThis.fetch {
  let count = 0;
  return async (input, init) => {
    const { id, ...message } = JSON.parse(init?.body as string) as { id: unknown };
    count += 1;
    const wireId = `5f1c9d0e2b7a4c6d8e9f0a1b.${count}`;
    const body = JSON.stringify({ ...message, id: wireId });
    return await restore(await fetch(input, { ...init, body }), wireId, id);
  };
}

function parseAndPrint(message: string, id: unknown): string {
  return JSON.stringify({ ...(JSON.parse(message) as object), id });
}

/** JSON answers, parsed and printed. */
export function createJsonPrintingFetch(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  return withWireIds(fetch, async (response, _, id) => {
    const { headers } = response;
    return new Response(parseAndPrint(await response.text(), id), { headers });
  });
}

/** SSE answers, read with eventsource-parser and printed again; each message parsed and printed. */
export function createEventPrintingFetch(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  return printEvents(fetch, (data, _, id) => parseAndPrint(data, id));
}

/** The same, but the id replaced in the message's text. */
export function createEventReplacingFetch(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  return printEvents(fetch, (data, wireId, id) => {
    const printed = `"id":"${wireId}"`;
    const at = data.lastIndexOf(printed);
    return `${data.slice(0, at)}"id":${JSON.stringify(id)}${data.slice(at + printed.length)}`;
  });
}

function printEvents(
  fetch: typeof globalThis.fetch,
  restore: (data: string, wireId: string, id: unknown) => string,
): typeof globalThis.fetch {
  return withWireIds(fetch, async ({ body, headers }, wireId, id) => {
    const decoder = new TextDecoder();
    const encoder = new TextEncoder();
    const printed: Uint8Array[] = [];
    const parser = createParser({
      onEvent(event) {
        const type = event.event === undefined ? "" : `event: ${event.event}\n`;
        const eventId = event.id === undefined ? "" : `id: ${event.id}\n`;
        const data = restore(event.data, wireId, id);
        printed.push(encoder.encode(`${type}${eventId}data: ${data}\n\n`));
      },
    });
    const transform = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        parser.feed(decoder.decode(chunk, { stream: true }));
        for (const event of printed.splice(0)) controller.enqueue(event);
      },
    });
    return new Response(body?.pipeThrough(transform), { headers });
  });
}
