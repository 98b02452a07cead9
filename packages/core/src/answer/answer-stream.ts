import {
  type ByteParts,
  createPartCollector,
  inChunks,
  partsText,
  replaceBytes,
  utf8,
} from "../wire/byte-parts.ts";
import { createEventSplitter, type EventBytes, eventText } from "../wire/event-splitter.ts";
import { parseMessages } from "../wire/json-rpc.ts";
import { MAX_MESSAGE_BYTES } from "../wire/read-answer.ts";
import type { AnswerTimeout } from "./answer-timeout.ts";
import type { AnswerRestorer, MessageEdit } from "./restore-answer.ts";

export interface EventStreamOptions {
  readonly body: ReadableStream<Uint8Array>;
  readonly restorer: AnswerRestorer;
  readonly signal: AbortSignal | undefined;
  /** Aborts when nobody waits for the answer any longer. It then counts as lost on the way. */
  readonly timeout?: AnswerTimeout;
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
  const { restorer, answered } = options;
  const held = createPartCollector();
  return createStream(options, {
    print: (failure) => failure,
    push(chunk) {
      held.add(chunk);
      if (held.length > MAX_MESSAGE_BYTES) throw tooLarge();
    },
    end(end, send) {
      options.signal?.throwIfAborted();
      const { parts, length } = held;
      const edit = end.failed ? undefined : restorer.restore(parts, 0, length);
      if (!answered()) return end;
      send(edited(parts, edit));
      return "over";
    },
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
  const splitter = createEventSplitter();
  return createStream(options, {
    print: (text) => `event: message\ndata: ${text}\n\n`,
    push(chunk, send) {
      for (const event of splitter.push(chunk)) send(restoreEvent(event, restorer));
      if (splitter.pendingBytes > MAX_MESSAGE_BYTES) throw tooLarge();
    },
    async end(end, send) {
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
      const next = mayResume ? await resume?.(lastEventId, retryMs) : undefined;
      if (next !== undefined) return { next };
      return isOpenEnded && !end.failed ? "over" : end;
    },
  });
}

function tooLarge(): RangeError {
  return new RangeError(`The server sent a message of more than ${MAX_MESSAGE_BYTES} bytes.`);
}

type Send = (parts: ByteParts) => void;

/** Why a body has no more: it failed, or it ended. */
interface ReadEnd {
  readonly failed: boolean;
  readonly cause: unknown;
}

/** What follows a body: another one, nothing, or a failure. */
type Progress =
  | "over"
  | { readonly next: ReadableStream<Uint8Array> }
  | { readonly cause: unknown };

/** The form of a stream's messages. */
interface Framing {
  /** Puts a failure into that form. */
  print(failure: string): string;
  /** Passes on the messages that a chunk completes. */
  push(chunk: Uint8Array, send: Send): void;
  end(end: ReadEnd, send: Send): Progress | Promise<Progress>;
}

/**
 * The client's stream. Whatever fails on the way is delivered as the answer to its request. Only the
 * caller's abort, and the failure of a stream without a request, are errors of the stream.
 */
function createStream(
  { body, answered, failure, onEnd, signal, timeout }: EventStreamOptions,
  framing: Framing,
): ReadableStream<Uint8Array> {
  let reader = body.getReader();
  // Some bodies do not end when the signal of their request aborts, and some never end to be cancelled.
  const stop = (reason: unknown) => void reader.cancel(reason).catch(() => undefined);
  if (timeout) timeout.interrupt = stop;
  let isCancelled = false;

  /** Reads once; resolves to why there is no more, if there is no more. */
  const readOn = async (send: Send): Promise<ReadEnd | undefined> => {
    let chunk;
    try {
      chunk = await reader.read();
    } catch (cause) {
      return { failed: true, cause };
    }
    if (isCancelled) return undefined;
    const { aborted = false, reason } = timeout?.signal ?? {};
    if (chunk.done) return { failed: aborted, cause: reason };
    timeout?.heard();
    try {
      framing.push(chunk.value, send);
    } catch (cause) {
      if (failure !== undefined) throw cause;
      stop(cause);
      return { failed: true, cause };
    }
    return undefined;
  };

  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      let hasSent = false;
      const send: Send = (parts) => {
        for (const chunk of inChunks(parts)) {
          controller.enqueue(chunk);
          hasSent = true;
        }
      };
      for (;;) {
        let progress: Progress;
        try {
          const end = await readOn(send);
          if (isCancelled || (end === undefined && hasSent)) return;
          if (end === undefined) continue;
          progress = await framing.end(end, send);
        } catch (cause) {
          progress = { cause };
        }
        if (isCancelled) return;
        if (progress !== "over" && "next" in progress) {
          reader = progress.next.getReader();
          if (hasSent) return;
          continue;
        }
        if (progress !== "over") stop(progress.cause);
        if (progress !== "over" && (signal?.aborted || failure === undefined)) {
          controller.error(signal?.aborted ? signal.reason : progress.cause);
        } else {
          if (progress !== "over" && !answered?.()) {
            send([utf8(framing.print(failure!(progress.cause)))]);
          }
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
