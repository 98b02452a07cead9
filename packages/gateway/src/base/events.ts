import type { JsonRpcMessage } from "@durable-mcp/core/internal";

const encoder = new TextEncoder();

export const utf8 = (text: string): Uint8Array => encoder.encode(text);

export function eventAnswer(body: ReadableStream<Uint8Array>): Response {
  const headers = {
    "content-type": "text/event-stream",
    "cache-control": "no-cache, no-transform",
    // nginx holds a stream back without it.
    "x-accel-buffering": "no",
  };
  return new Response(body, { headers });
}

/** What a listener may leave unread, in bytes. */
const maxUnreadBytes = 4_000_000;

export type Listener = ReadableStreamDefaultController<Uint8Array>;

/** A stream for a listener, and the answer that brings it. @param onLeft called when its reader has left */
export function openListener(onLeft: () => void) {
  let listener!: Listener;
  const body = new ReadableStream<Uint8Array>(
    { start: (controller) => void (listener = controller), cancel: onLeft },
    new ByteLengthQueuingStrategy({ highWaterMark: maxUnreadBytes }),
  );
  return { listener, answer: eventAnswer(body) };
}

export const isBehind = ({ desiredSize }: Listener) => (desiredSize ?? 0) <= 0;

/** Clients that take a first event without a message before revision 2025-11-25. */
const knownToTakeIt = new Set(["codex-mcp-client", "gemini-cli-mcp-client"]);

/** How a client takes it: without a name, with one, or not at all. */
export type PrimingKind = "plain" | "named" | "none";

export function primingOf(version: string, clientInfo: Record<string, unknown> = {}): PrimingKind {
  if (version >= "2025-11-25") return "plain";
  return knownToTakeIt.has(String(clientInfo["name"])) ? "named" : "none";
}

/**
 * An event without data: the client comes back with its id.
 *
 * @param isNamed for clients that read the data of each event without a name
 */
export const primingEvent = (id: string, isNamed: boolean) =>
  utf8(`${isNamed ? "event: priming\n" : ""}id: ${id}\ndata: \n\n`);

export const messageEvent = (message: JsonRpcMessage) =>
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

/** What a stream brings, to its end or to where it breaks off. */
export async function* partsOf(
  reader: ReadableStreamDefaultReader<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  for (;;) {
    const { value } = await reader.read().catch(() => ({ value: undefined }));
    if (value === undefined) return;
    yield value;
  }
}

/**
 * A client's stream of these parts. One that fails ends, and the client comes back.
 *
 * @param onOver called at the end, and when the client has left: ends what the parts wait for
 */
export function streamOf(
  parts: AsyncGenerator<Uint8Array>,
  onOver: () => unknown,
): ReadableStream<Uint8Array> {
  let isLeft = false;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { value } = await parts.next().catch(() => ({ value: undefined }));
      if (isLeft) return;
      if (value) return controller.enqueue(value);
      controller.close();
      onOver();
    },
    cancel() {
      isLeft = true;
      onOver();
    },
  });
}
