import { onAbort } from "../base/bounded-wait.ts";
import {
  type ByteParts,
  createPartCollector,
  partsText,
  replaceBytes,
  utf8,
} from "../wire/byte-parts.ts";
import { createEventSplitter, type EventBytes, eventText } from "../wire/event-splitter.ts";
import { parseMessages } from "../wire/json-rpc.ts";
import { MAX_MESSAGE_BYTES } from "../wire/read-answer.ts";
import type { AnswerRestorer, MessageEdit } from "./restore-answer.ts";

export interface EventStreamOptions {
  readonly body: ReadableStream<Uint8Array>;
  readonly restorer: AnswerRestorer;
  readonly signal: AbortSignal | undefined;
  /** Aborts when nobody waits for the answer any longer. It then counts as lost on the way. */
  readonly giveUp?: AbortSignal;
  /** Called with each chunk that arrives. */
  readonly onChunk?: () => void;
  /** Whether the stream's request has its answer. */
  readonly answered?: () => boolean;
  /** The JSON-RPC error, as text, that is delivered if the answer does not come. */
  readonly failure?: (cause: unknown) => string;
  /** Continues an interrupted stream; `undefined` if that is impossible. */
  readonly resume?:
    | ((
        lastEventId: string,
        retryMs: number | undefined,
      ) => Promise<ReadableStream<Uint8Array> | undefined>)
    | undefined;
  /** Called once when the stream is over, after success and after failure. */
  readonly onEnd?: () => void;
}

/** The options for the stream of a request. */
export type AnswerStreamOptions = EventStreamOptions &
  Required<Pick<EventStreamOptions, "answered" | "failure">>;

/** An `application/json` answer: one message, held until it is whole. */
export function createJsonAnswerStream(options: AnswerStreamOptions): ReadableStream<Uint8Array> {
  const { body, restorer, answered } = options;
  const reader = body.getReader();
  const held = createPartCollector();
  return createStream(options, reader, printJson, async (send) => {
    const chunk = await read(reader, options);
    if ("value" in chunk) {
      held.add(chunk.value);
      return held.length <= MAX_MESSAGE_BYTES ? "more" : { cause: tooLarge() };
    }
    options.signal?.throwIfAborted();
    const { parts, length } = held;
    const edit = chunk.failed ? undefined : restorer.restore(parts, 0, length);
    if (!answered()) return chunk;
    send(edited(parts, edit));
    return "over";
  });
}

/**
 * A `text/event-stream` answer, event by event. If it breaks before the answer, it is resumed. If that is
 * not possible, the last event is the error. A stream without a request has no `failure`, and lasts as
 * long as `resume` returns another.
 */
export function createEventAnswerStream(options: EventStreamOptions): ReadableStream<Uint8Array> {
  const { restorer, answered = () => true, failure, resume } = options;
  const isOpenEnded = failure === undefined;
  let reader = options.body.getReader();
  const splitter = createEventSplitter();
  const source = { cancel: (reason: unknown) => reader.cancel(reason) };

  /** Reads once; resolves to why there is no more, if there is no more. */
  const readOn = async (send: Send): Promise<ReadEnd | undefined> => {
    const chunk = await read(reader, options);
    if (!("value" in chunk)) return chunk;
    for (const event of splitter.push(chunk.value)) send(restoreEvent(event, restorer));
    if (splitter.pendingBytes > MAX_MESSAGE_BYTES) throw tooLarge();
    return undefined;
  };

  return createStream(options, source, printEvent, async (send) => {
    const end = await readOn(send).catch((cause: unknown) => {
      if (!isOpenEnded) throw cause;
      void reader.cancel(cause).catch(() => undefined);
      return { failed: true, cause };
    });
    if (end === undefined) return "more";
    options.signal?.throwIfAborted();
    const rest = splitter.finish();
    if (!answered() && rest !== undefined && parseMessages(eventText(rest)) !== undefined) {
      // Some servers forget the blank line after the last event. It counts if it is the answer.
      const restored = restoreEvent(rest, restorer);
      if (answered()) send([...restored, utf8("\n\n")]);
    }
    if (answered() && !isOpenEnded) return "over";
    const { lastEventId = "", retryMs } = splitter;
    const mayResume = isOpenEnded || lastEventId !== "";
    const continued = mayResume ? await resume?.(lastEventId, retryMs) : undefined;
    if (continued === undefined) return isOpenEnded && !end.failed ? "over" : end;
    reader = continued.getReader();
    return "more";
  });
}

function tooLarge(): RangeError {
  return new RangeError(`The server sent a message of more than ${MAX_MESSAGE_BYTES} bytes.`);
}

const printJson = (failure: string) => failure;
const printEvent = (failure: string) => `event: message\ndata: ${failure}\n\n`;

type Send = (parts: ByteParts) => void;

/** After one step of a stream: it goes on, it is over, or it failed. */
type Progress = "more" | "over" | { readonly cause: unknown };

/**
 * The client's stream. Whatever fails in a step is delivered as the answer to its request. Only the
 * caller's abort, and the failure of a stream without a request, are errors of the stream.
 */
function createStream(
  { answered, failure, onEnd, signal, giveUp }: EventStreamOptions,
  source: { cancel(reason?: unknown): Promise<void> },
  /** Puts a failure into the form of the stream's messages. */
  print: (failure: string) => string,
  /** Reads once and passes on complete messages. */
  step: (send: Send) => Promise<Progress>,
): ReadableStream<Uint8Array> {
  // Some bodies do not end when the signal of their request aborts, and some never end to be cancelled.
  const stop = (reason: unknown) => void source.cancel(reason).catch(() => undefined);
  onAbort(giveUp, () => stop(giveUp?.reason));
  let isCancelled = false;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const send: Send = (parts) => {
        for (const part of parts) if (part.length > 0) controller.enqueue(part);
      };
      for (;;) {
        const before = controller.desiredSize;
        const progress = await step(send).catch((cause: unknown) => ({ cause }));
        if (isCancelled) return;
        if (progress === "more") {
          if (controller.desiredSize !== before) return;
          continue;
        }
        if (progress !== "over") stop(progress.cause);
        if (progress !== "over" && (signal?.aborted || failure === undefined)) {
          controller.error(signal?.aborted ? signal.reason : progress.cause);
        } else {
          if (progress !== "over" && !answered?.()) send([utf8(print(failure!(progress.cause)))]);
          controller.close();
        }
        return onEnd?.();
      }
    },
    cancel(reason) {
      isCancelled = true;
      onEnd?.();
      stop(reason);
    },
  });
}

function edited(parts: ByteParts, edit: MessageEdit): ByteParts {
  if (edit === "drop") return [];
  return edit ? replaceBytes(parts, edit) : parts;
}

function restoreEvent(event: EventBytes, restorer: AnswerRestorer): ByteParts {
  if (event.type !== "" && event.type !== "message") return event.parts;
  if (event.data !== undefined) {
    const { start, end } = event.data;
    return edited(event.parts, restorer.restore(event.parts, start, end));
  }
  if (event.multiline === undefined) return event.parts;
  const { data, otherLines } = event.multiline;
  const bytes = utf8(data);
  const edit = restorer.restore([bytes], 0, bytes.length);
  if (edit === undefined || edit === "drop") return edited(event.parts, edit);
  const restored = replaceBytes([bytes], edit);
  // Not /^/gm: that also matches after U+2028, which does not end a line here.
  const dataLines = partsText(restored, 0, Infinity).split("\n");
  const lines = [...otherLines, ...dataLines.map((line) => `data: ${line}`), "", ""];
  return [utf8(lines.join("\n"))];
}

/** Why a body has no more: it failed, or it ended. */
interface ReadEnd {
  readonly failed: boolean;
  readonly cause: unknown;
}

async function read(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  { giveUp, onChunk }: EventStreamOptions,
): Promise<{ value: Uint8Array } | ReadEnd> {
  try {
    const { done, value } = await reader.read();
    if (done) return { failed: giveUp?.aborted === true, cause: giveUp?.reason };
    onChunk?.();
    return { value };
  } catch (cause) {
    return { failed: true, cause };
  }
}
