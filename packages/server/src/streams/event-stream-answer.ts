import { detach } from "@durable-mcp/core/internal";
import type { JSONRPCMessage } from "../base/mcp-types.ts";
import type { Reply, ReplyStream } from "../base/reply.ts";
import type { HandlerSettings } from "../base/settings.ts";

/** The next event of a stream. */
export type StreamPart =
  | { readonly type: "message"; readonly eventId: string; readonly message: JSONRPCMessage }
  /** Gives the client an id to resume from, before there is a message. */
  | { readonly type: "prime"; readonly eventId: string };

export interface EventStreamOptions {
  readonly parts: (signal: AbortSignal) => AsyncIterable<StreamPart>;
  /**
   * The event id from which the client resumes. Some clients know their place only from the stream that
   * they have now, so it comes first, in whatever way the stream ends.
   */
  readonly resumedFrom?: string | undefined;
  readonly sessionId: string;
  readonly timeouts: HandlerSettings["timeouts"];
  /** Ends the stream from this side. */
  readonly signal: AbortSignal;
  readonly onEnd: () => void;
  readonly onError: (error: unknown) => void;
}

/** An SSE answer that carries `parts`, until they end or the client goes away. */
export function eventStreamAnswer(options: EventStreamOptions): Reply {
  const { parts, resumedFrom, sessionId, timeouts, onEnd, onError } = options;
  const closing = new AbortController();
  const signal = AbortSignal.any([closing.signal, options.signal]);

  const body: ReplyStream = (sink) => {
    // Otherwise a comment, so that the headers reach the client before there is a message.
    sink.write(resumedFrom === undefined ? ": open\n\n" : prime(resumedFrom, timeouts.retryMs));
    const keepAlive = setInterval(() => sink.write(": keep-alive\n\n"), timeouts.keepAliveMs);
    detach(keepAlive);
    void (async () => {
      try {
        for await (const part of parts(signal)) {
          if (signal.aborted) break;
          sink.write(part.type === "prime" ? prime(part.eventId, timeouts.retryMs) : event(part));
        }
      } catch (error) {
        onError(error);
      } finally {
        clearInterval(keepAlive);
        onEnd();
        sink.end();
      }
    })();
    return () => closing.abort();
  };
  return { status: 200, headers: streamHeaders(sessionId), body };
}

export function streamHeaders(sessionId: string): Reply["headers"] {
  return {
    "Content-Type": "text/event-stream",
    "Cache-Control": "no-cache, no-transform",
    "X-Accel-Buffering": "no",
    "Mcp-Session-Id": sessionId,
  };
}

function prime(eventId: string, retryMs: number): string {
  return `id: ${eventId}\nretry: ${retryMs}\ndata: \n\n`;
}

function event({ eventId, message }: Extract<StreamPart, { type: "message" }>): string {
  return `event: message\nid: ${eventId}\ndata: ${JSON.stringify(message)}\n\n`;
}
