import { createEventSplitter, type EventSplitter, eventText } from "../wire/event-splitter.ts";
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
  const read = (text: string) => {
    const message = text === "" ? undefined : parseMessage(text);
    if (message !== undefined) observe(message, text.length);
  };
  const giveUp = () => observe(undefined, Infinity);
  const reader = isEventStream(response) ? readEvents(read, giveUp) : readWhole(read, giveUp);
  const passing = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      reader.push(chunk);
      controller.enqueue(chunk);
    },
    flush: () => reader.end(),
  });
  return new Response(body.pipeThrough(passing), { status, statusText, headers });
}

interface BodyReader {
  push(chunk: Uint8Array): void;
  end(): void;
}

function readWhole(read: (text: string) => void, giveUp: () => void): BodyReader {
  let held: PartCollector | undefined = createPartCollector();
  return {
    push(chunk) {
      held?.add(chunk);
      if (held === undefined || held.length <= maxRead) return;
      held = undefined;
      giveUp();
    },
    end: () => held && read(partsText(held.parts, 0, Infinity)),
  };
}

function readEvents(read: (text: string) => void, giveUp: () => void): BodyReader {
  let splitter: EventSplitter | undefined = createEventSplitter();
  return {
    push(chunk) {
      for (const event of splitter?.push(chunk) ?? []) read(eventText(event));
      if (splitter === undefined || splitter.pendingBytes <= maxRead) return;
      splitter = undefined;
      giveUp();
    },
    end() {
      const last = splitter?.finish();
      if (last !== undefined) read(eventText(last));
    },
  };
}
