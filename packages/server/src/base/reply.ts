import type { ServedRequest } from "./served-request.ts";

/** The handler's own answer. */
export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** A text is sent with its length, and a stream as it is written. */
  readonly body?: string | ReplyStream | undefined;
}

/**
 * Called once with where to write; headers leave with the first text.
 * @returns called once if the client leaves before the end, or does not read
 */
export type ReplyStream = (sink: ReplySink) => () => void;

/** Takes and drops what comes after the end, or after the client has left. */
export interface ReplySink {
  write(text: string): void;
  end(text?: string): void;
}

/** Answers a request; a `Response` is one of the author's functions. */
export type Serve = (request: ServedRequest) => Promise<Reply | Response>;

/** The `Serve` of a handler, for `toNodeHandler`, which needs no `Request` and no `Response` then. */
export const serveOf = new WeakMap<object, Serve>();

/**
 * How much of a stream may wait in memory for a client that does not read: four of the largest
 * messages of a default server. A stream that exceeds it is broken off, and the client resumes it
 * with `Last-Event-ID`, from the store.
 */
export const maxUnreadBytes = 16 * 1024 * 1024;

/** Whether an answer is a `Response`, which may be another package's and no instance of this one. */
export function isResponse(answer: Reply | Response): answer is Response {
  return typeof answer.headers.get === "function";
}

export function toResponse(reply: Reply | Response): Response {
  if (isResponse(reply)) return reply;
  const { status, headers, body = null } = reply;
  return new Response(typeof body === "function" ? readable(body) : body, { status, headers });
}

function readable(stream: ReplyStream): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let isOpen = true;
  let leave: () => void;
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const write = (text: string) => {
          if (!isOpen) return;
          controller.enqueue(encoder.encode(text));
          if ((controller.desiredSize ?? 0) >= 0) return;
          isOpen = false;
          controller.error(new Error("The client does not read this stream."));
          // The stream may write before it has returned how to leave it.
          queueMicrotask(() => leave());
        };
        leave = stream({
          write,
          end: (text) => {
            if (text !== undefined) write(text);
            if (!isOpen) return;
            isOpen = false;
            controller.close();
          },
        });
      },
      cancel() {
        isOpen = false;
        leave();
      },
    },
    { highWaterMark: maxUnreadBytes, size: (chunk) => chunk.byteLength },
  );
}
