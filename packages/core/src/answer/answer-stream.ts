import { type ByteParts, createPartCollector, inChunks, utf8 } from "../wire/byte-parts.ts";
import { createEventSplitter, eventText } from "../wire/event-splitter.ts";
import { parseMessages, UnusableAnswer } from "../wire/json-rpc.ts";
import { MAX_MESSAGE_BYTES } from "../wire/read-answer.ts";
import { type AnswerSource, type Controller, readRest } from "./answer-source.ts";
import type { AnswerTimeout } from "./answer-timeout.ts";
import type { AnswerRestorer } from "./restore-answer.ts";
import { edited, type EventSeal, isMessage, longEvent, restoreEvent } from "./restore-event.ts";

export interface EventStreamOptions {
  readonly body: ReadableStream<Uint8Array>;
  readonly restore: AnswerRestorer;
  /** Seals the ids of events. @default they stay */
  readonly seal?: EventSeal | undefined;
  readonly signal: AbortSignal | undefined;
  /** Aborts when nobody waits for the answer any longer. It then counts as lost on the way. */
  readonly timeout?: AnswerTimeout;
  /** Whether the stream's request has its answer. */
  readonly answered?: () => boolean;
  /** Whether a client of ours has taken it, for which `restore` leaves nothing. */
  readonly isTaken?: () => boolean;
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
export function readJsonAnswer(options: AnswerStreamOptions): AnswerSource {
  const { restore, answered, timeout } = options;
  const held = createPartCollector();
  return createSource(options, {
    print: (failure) => failure,
    push(chunk) {
      timeout?.heard();
      held.add(chunk);
      if (held.length > MAX_MESSAGE_BYTES) throw tooLarge();
    },
    end(end, send) {
      options.signal?.throwIfAborted();
      const { parts, length } = held;
      const edit = end.failed ? undefined : restore(parts, 0, length);
      if (!answered()) return end.failed ? end : { cause: new UnusableAnswer() };
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
export function readEventAnswer(options: EventStreamOptions): AnswerSource {
  const { restore, seal, answered = () => true, failure, resume, timeout } = options;
  const isOpenEnded = failure === undefined;
  /** Since the last message the stream was resumed: event ids, comments and new streams could go on for ever. */
  let isResumed = false;
  const splitter = createEventSplitter();
  const goOn = async (end: ReadEnd): Promise<Progress> => {
    const { lastEventId = "", retryMs } = splitter;
    const mayResume = isOpenEnded || lastEventId !== "";
    const next = mayResume ? await resume?.(lastEventId, retryMs) : undefined;
    if (next !== undefined) {
      isResumed = true;
      return { next };
    }
    return isOpenEnded && !end.failed ? "over" : end;
  };
  return createSource(options, {
    print: (text) => `event: message\ndata: ${text}\n\n`,
    push(chunk, send) {
      for (const event of splitter.push(chunk)) {
        send(restoreEvent(event, restore, seal));
        if (isResumed && !answered() && isMessage(event)) isResumed = false;
      }
      // A long message takes its time.
      if (!isResumed || splitter.pendingBytes > longEvent) timeout?.heard();
      if (splitter.pendingBytes > MAX_MESSAGE_BYTES) throw tooLarge();
    },
    end(end, send) {
      options.signal?.throwIfAborted();
      const rest = splitter.finish();
      if (!answered() && rest !== undefined && parseMessages(eventText(rest)) !== undefined) {
        // Some servers forget the blank line after the last event. It counts if it is the answer.
        const restored = restoreEvent(rest, restore, seal);
        if (answered()) send([...restored, utf8("\n\n")]);
      }
      return answered() && !isOpenEnded ? "over" : goOn(end);
    },
  });
}

export function createEventAnswerStream(options: EventStreamOptions): ReadableStream<Uint8Array> {
  return new ReadableStream(readEventAnswer(options));
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
function createSource(
  { body, answered, isTaken, failure, onEnd, signal, timeout }: EventStreamOptions,
  framing: Framing,
): AnswerSource {
  let reader = body.getReader();
  // Some bodies do not end when the signal of their request aborts, and some never end to be cancelled.
  const stop = (reason: unknown) => void reader.cancel(reason).catch(() => undefined);
  if (timeout) timeout.interrupt = stop;
  if (timeout?.signal.aborted) stop(timeout.signal.reason);
  let isCancelled = false;

  /** Passes on what a chunk completes. Returns why the stream cannot go on, if it cannot. */
  const passOn = (chunk: Uint8Array, send: Send): ReadEnd | undefined => {
    try {
      framing.push(chunk, send);
    } catch (cause) {
      if (failure !== undefined) throw cause;
      stop(cause);
      return { failed: true, cause };
    }
    return undefined;
  };

  /** Delivers what failed as the answer, unless there is none to give. */
  const fail = (controller: Controller, cause: unknown) => {
    stop(cause);
    if (signal?.aborted) return controller.error(signal.reason);
    if (failure === undefined) return controller.error(cause);
    if (!answered?.()) controller.enqueue(utf8(framing.print(failure(cause))));
    controller.close();
  };

  return {
    async pull(controller) {
      let hasSent = false;
      const send: Send = (parts) => {
        for (const chunk of inChunks(parts)) {
          controller.enqueue(chunk);
          hasSent = true;
        }
      };
      for (;;) {
        let end: ReadEnd | undefined;
        let chunk: Uint8Array | undefined;
        try {
          ({ value: chunk } = await reader.read());
          const { aborted = false, reason } = timeout?.signal ?? {};
          if (chunk === undefined) end = { failed: aborted, cause: reason };
        } catch (cause) {
          end = { failed: true, cause };
        }
        if (isCancelled) return;
        let progress: Progress | Promise<Progress> | undefined;
        try {
          end ??= passOn(chunk!, send);
          progress = end && framing.end(end, send);
          // Most answers are over at once.
          if (progress instanceof Promise) progress = await progress;
        } catch (cause) {
          progress = { cause };
        }
        if (isCancelled) return;
        if (progress === "over") controller.close();
        else if (progress && "cause" in progress) fail(controller, progress.cause);
        else {
          if (progress) reader = progress.next.getReader();
          if (hasSent || isTaken?.()) return;
          continue;
        }
        return onEnd?.();
      }
    },
    cancel(reason, isAnswered = false) {
      isCancelled = true;
      onEnd?.();
      if (isAnswered) void readRest(reader, stop);
      else stop(reason);
    },
  };
}
