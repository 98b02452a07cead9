import { createEventSplitter, eventText } from "../wire/event-splitter.ts";
import { createPartCollector, type PartCollector, partsText } from "../wire/byte-parts.ts";
import { type JsonRpcMessage, parseMessage } from "../wire/json-rpc.ts";
import { isEventStream } from "../wire/read-answer.ts";

/** The rest of an answer with a larger message is passed on unread, in bytes. Nothing larger can be kept. */
const maxRead = 4_194_304;

/**
 * Gets each message of an answer, with the length of its JSON in characters. `undefined` stands for one that
 * was too large to be read.
 */
export type Observe = (message: JsonRpcMessage | undefined, length: number) => void;

/** Passes an answer on byte for byte, as it comes. A message is observed before its last byte is passed on. */
export function observeAnswer(response: Response, observe: Observe): Response {
  const { body, status, statusText, headers } = response;
  if (body === null) return response;
  const splitter = isEventStream(response) ? createEventSplitter() : undefined;
  let held: PartCollector | undefined = createPartCollector();
  const read = (text: string) => {
    const message = text === "" ? undefined : parseMessage(text);
    if (message !== undefined) observe(message, text.length);
  };
  const passing = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      if (held !== undefined) {
        if (splitter === undefined) held.add(chunk);
        for (const event of splitter?.push(chunk) ?? []) read(eventText(event));
        if ((splitter?.pendingBytes ?? held.length) > maxRead) {
          held = undefined;
          observe(undefined, Infinity);
        }
      }
      controller.enqueue(chunk);
    },
    flush() {
      if (held === undefined) return;
      const last = splitter?.finish();
      if (last) read(eventText(last));
      else if (!splitter) read(partsText(held.parts, 0, Infinity));
    },
  });
  return new Response(body.pipeThrough(passing), { status, statusText, headers });
}
