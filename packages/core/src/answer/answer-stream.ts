import { onAbort } from "../base/bounded-wait.ts";
import { type ByteParts, partsLength, partsText, replaceBytes, utf8 } from "../wire/byte-parts.ts";
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
  readonly resume?: (
    lastEventId: string,
    retryMs: number | undefined,
  ) => Promise<ReadableStream<Uint8Array> | undefined>;
  /** Called once when the stream is over, after success and after failure. */
  readonly onEnd?: () => void;
}

/** The options for the stream of a request. */
export type AnswerStreamOptions = EventStreamOptions &
  Required<Pick<EventStreamOptions, "answered" | "failure">>;

/** An `application/json` answer: one message, held until it is whole. */
export function createJsonAnswerStream(options: AnswerStreamOptions): ReadableStream<Uint8Array> {
  const { body, restorer, answered, failure } = options;
  const reader = body.getReader();
  const parts: Uint8Array[] = [];
  let length = 0;
  return createStream(options, reader, async (controller) => {
    const chunk = await read(reader, options);
    if ("value" in chunk) {
      parts.push(chunk.value);
      length += chunk.value.length;
      if (length <= MAX_MESSAGE_BYTES) return false;
      await reader.cancel().catch(() => undefined);
      enqueue(controller, [utf8(failure(tooLarge()))]);
      return true;
    }
    options.signal?.throwIfAborted();
    const edit = chunk.failed ? undefined : restorer.restore(parts, 0, partsLength(parts));
    if (!answered()) enqueue(controller, [utf8(failure(chunk.cause))]);
    else enqueue(controller, edited(parts, edit));
    return true;
  });
}

/**
 * A `text/event-stream` answer, event by event. If it breaks before the answer, it is resumed. If that is
 * not possible, the last event is the error. A stream without a request has no `failure`, and lasts as
 * long as `resume` returns another.
 */
export function createEventAnswerStream(options: EventStreamOptions): ReadableStream<Uint8Array> {
  const { restorer, answered = () => true, failure, resume } = options;
  let reader = options.body.getReader();
  const splitter = createEventSplitter();
  const fail = (controller: Controller, cause: unknown) => {
    const text = failure?.(cause);
    if (text !== undefined) enqueue(controller, [utf8(`event: message\ndata: ${text}\n\n`)]);
  };

  return createStream(
    options,
    { cancel: (reason) => reader.cancel(reason) },
    async (controller) => {
      const chunk = await read(reader, options);
      if ("value" in chunk) {
        for (const event of splitter.push(chunk.value)) {
          enqueue(controller, restoreEvent(event, restorer));
        }
        if (splitter.pendingBytes <= MAX_MESSAGE_BYTES) return false;
        await reader.cancel().catch(() => undefined);
        if (failure === undefined) throw tooLarge();
        if (!answered()) fail(controller, tooLarge());
        return true;
      }
      options.signal?.throwIfAborted();
      const rest = splitter.finish();
      if (!answered() && rest !== undefined && parseMessages(eventText(rest)) !== undefined) {
        // Some servers forget the blank line after the last event. It counts if it is the answer.
        const restored = restoreEvent(rest, restorer);
        if (answered()) enqueue(controller, [...restored, utf8("\n\n")]);
      }
      const isOpenEnded = failure === undefined;
      if (answered() && !isOpenEnded) return true;
      const { lastEventId = "", retryMs } = splitter;
      const mayResume = isOpenEnded || lastEventId !== "";
      const continued = mayResume ? await resume?.(lastEventId, retryMs) : undefined;
      if (continued !== undefined) {
        reader = continued.getReader();
        return false;
      }
      if (isOpenEnded && chunk.failed) throw chunk.cause;
      fail(controller, chunk.cause);
      return true;
    },
  );
}

function tooLarge(): RangeError {
  return new RangeError(`The server sent a message of more than ${MAX_MESSAGE_BYTES} bytes.`);
}

type Controller = ReadableStreamDefaultController<Uint8Array>;

function createStream(
  { onEnd, signal, giveUp }: EventStreamOptions,
  source: { cancel(reason?: unknown): Promise<void> },
  /** Reads once and passes on complete messages; resolves to whether the stream is over. */
  step: (controller: Controller) => Promise<boolean>,
): ReadableStream<Uint8Array> {
  // Some bodies do not end when the signal of their request aborts.
  onAbort(giveUp, () => void source.cancel(giveUp?.reason).catch(() => undefined));
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        for (;;) {
          const before = controller.desiredSize;
          if (await step(controller)) {
            controller.close();
            onEnd?.();
            return;
          }
          if (controller.desiredSize !== before) return;
        }
      } catch (error) {
        onEnd?.();
        controller.error(signal?.aborted ? signal.reason : error);
        await source.cancel(error).catch(() => undefined);
      }
    },
    async cancel(reason) {
      onEnd?.();
      await source.cancel(reason).catch(() => undefined);
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
  const dataLines = partsText(restored, 0, partsLength(restored)).split("\n");
  const lines = [...otherLines, ...dataLines.map((line) => `data: ${line}`), "", ""];
  return [utf8(lines.join("\n"))];
}

async function read(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  { giveUp, onChunk }: EventStreamOptions,
): Promise<{ value: Uint8Array } | { failed: boolean; cause: unknown }> {
  try {
    const { done, value } = await reader.read();
    if (done) return { failed: giveUp?.aborted === true, cause: giveUp?.reason };
    onChunk?.();
    return { value };
  } catch (cause) {
    return { failed: true, cause };
  }
}

function enqueue(controller: Controller, parts: ByteParts): void {
  for (const part of parts) if (part.length > 0) controller.enqueue(part);
}
