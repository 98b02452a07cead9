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

/** Before the event ids are asked for, while they are, and then. */
type Phase = "waiting" | "naming" | "open" | "over";

export function createAnswerStream(options: AnswerStreamOptions): AnswerStream {
  const { timeouts, isPrimed, eventIds } = options;
  let phase: Phase = "waiting";
  let sink: ReplySink | undefined;
  let makeId: MakeEventId | undefined;
  let firstByte: ReturnType<typeof setTimeout> | undefined;
  let keepAlive: ReturnType<typeof setInterval> | undefined;
  /** What waits for the event ids, or for the connection. */
  let ready: PlacedText[] = [];
  let endsThen = false;
  /** Most streams need none. */
  let ending: AbortController | undefined;

  function flush(head: string): void {
    const text = head + ready.map((message) => printEvent(message, makeId)).join("");
    ready = [];
    if (endsThen) {
      stop();
      sink!.end(text);
      return;
    }
    // A comment, so that the headers reach the client before there is a message.
    sink!.write(text === "" ? ": open\n\n" : text);
    if (!keepAlive) {
      keepAlive = setInterval(() => sink!.write(": keep-alive\n\n"), timeouts.keepAliveMs);
      detach(keepAlive);
    }
  }

  function stop(): void {
    phase = "over";
    ending?.abort();
    clearTimeout(firstByte);
    clearInterval(keepAlive);
  }

  /** Gets the event ids, then writes. */
  function open(): void {
    clearTimeout(firstByte);
    if (phase === "open") return flush("");
    if (phase !== "waiting") return;
    phase = "naming";
    const ids = eventIds();
    if (ids instanceof Promise) void ids.then(begin);
    else begin(ids);
  }

  function begin(ids: MakeEventId | undefined): void {
    if (phase !== "naming") return;
    phase = "open";
    makeId = ids;
    flush(ids && isPrimed ? `id: ${ids(0)}\nretry: ${timeouts.retryMs}\ndata: \n\n` : "");
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
      if (phase === "over" || endsThen) return;
      ready.push({ place, text });
      endsThen ||= isLast;
      if (sink) open();
    },
    end: () => {
      if (phase === "over") return;
      endsThen = true;
      if (sink) open();
    },
    ended: () => {
      ending ??= new AbortController();
      if (phase === "over" || endsThen) ending.abort();
      return ending.signal;
    },
  };
}

interface PlacedText {
  readonly place: number | undefined;
  readonly text: string;
}

function printEvent({ place, text }: PlacedText, makeId: MakeEventId | undefined): string {
  const id = makeId && place !== undefined ? `id: ${makeId(place)}\n` : "";
  return `event: message\n${id}data: ${text}\n\n`;
}
