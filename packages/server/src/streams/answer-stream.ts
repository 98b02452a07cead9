import { detach } from "@durable-mcp/core/internal";
import type { HandlerSettings } from "../base/settings.ts";
import type { ReplySink, ReplyStream } from "../base/reply.ts";
import type { MakeEventId } from "./event-id.ts";

/** The SSE answer to one POST. */
export interface AnswerStream {
  readonly body: ReplyStream;
  /** Writes a message; without a place nobody can resume after it. `isLast` ends the stream in the same write. */
  write(place: number | undefined, text: string, isLast: boolean): void;
  /** Ends it without a further message. */
  end(): void;
  /** Aborts when it has ended, from either side. */
  readonly ended: () => AbortSignal;
}

interface AnswerStreamOptions {
  readonly timeouts: HandlerSettings["timeouts"];
  /** Whether the client understands an event without data, from which it can resume. */
  readonly isPrimed: boolean;
  /**
   * Makes the event ids; `undefined` if nothing can be resumed. Asked once, before the first byte.
   */
  readonly eventIds: () => MakeEventId | undefined | Promise<MakeEventId | undefined>;
}

/**
 * How long the first byte waits for the answer, in milliseconds. An answer that is there by then goes
 * out in one write, with the event that the client would resume from.
 */
const firstByteMs = 5;

// oxlint-disable-next-line max-lines-per-function -- its state, and functions of a few lines each
export function createAnswerStream({
  timeouts,
  isPrimed,
  eventIds,
}: AnswerStreamOptions): AnswerStream {
  let sink: ReplySink | undefined;
  let isOver = false;
  let isOpen = false;
  let makeId: MakeEventId | undefined;
  let opening: Promise<void> | undefined;
  let firstByte: ReturnType<typeof setTimeout> | undefined;
  let keepAlive: ReturnType<typeof setInterval> | undefined;
  /** What waits for the event ids, or for the connection. */
  let ready: (() => string)[] = [];
  let endsThen = false;
  /** Most streams need none. */
  let ending: AbortController | undefined;

  /** The beginning of the stream. */
  function opened(): string {
    if (isOpen) return "";
    isOpen = true;
    if (!makeId || !isPrimed) return "";
    return `id: ${makeId(0)}\nretry: ${timeouts.retryMs}\ndata: \n\n`;
  }

  function flush(): void {
    if (!sink || opening || isOver) return;
    const head = opened();
    const text = head + ready.map((print) => print()).join("");
    ready = [];
    if (endsThen) {
      stop();
      sink.end(text);
      return;
    }
    // A comment, so that the headers reach the client before there is a message.
    sink.write(text === "" ? ": open\n\n" : text);
    if (!keepAlive) {
      keepAlive = setInterval(() => sink?.write(": keep-alive\n\n"), timeouts.keepAliveMs);
      detach(keepAlive);
    }
  }

  function stop(): void {
    isOver = true;
    ending?.abort();
    clearTimeout(firstByte);
    clearInterval(keepAlive);
  }

  /** Gets the event ids, then writes. */
  function open(): void {
    clearTimeout(firstByte);
    if (opening) return;
    const ids = isOpen ? makeId : eventIds();
    if (ids instanceof Promise) {
      opening = openWith(ids);
      return;
    }
    makeId = ids;
    flush();
  }

  async function openWith(ids: Promise<MakeEventId | undefined>): Promise<void> {
    makeId = await ids;
    opening = undefined;
    flush();
  }

  return {
    body: (given) => {
      sink = given;
      if (ready.length > 0 || endsThen) open();
      else firstByte = setTimeout(open, firstByteMs);
      return stop;
    },
    write: (place, text, isLast) => {
      // After its end the rest is for the client that comes back.
      if (isOver || endsThen) return;
      ready.push(() => {
        const id = makeId && place !== undefined ? `id: ${makeId(place)}\n` : "";
        return `event: message\n${id}data: ${text}\n\n`;
      });
      endsThen ||= isLast;
      if (sink) open();
    },
    end: () => {
      if (isOver) return;
      endsThen = true;
      if (sink) open();
    },
    ended: () => {
      ending ??= new AbortController();
      if (isOver || endsThen) ending.abort();
      return ending.signal;
    },
  };
}
