import { SUPPORTED_PROTOCOL_VERSIONS } from "@modelcontextprotocol/sdk/types.js";
import {
  type EventPosition,
  type SessionEventIds,
  sessionEventIds,
  standalone,
} from "../streams/event-id.ts";
import { eventStreamAnswer, type StreamPart } from "../streams/event-stream-answer.ts";
import { errorAnswer, sessionNotFound } from "./http-answer.ts";
import { isFinished, resumeRequest } from "../streams/resume-request.ts";
import { fingerprint } from "../base/session-id.ts";
import type {
  Caller,
  FoundSession,
  HandlerParts,
  SessionDirectory,
} from "../live/session-directory.ts";

/** The first revision whose clients understand an event without data. */
const firstWithEmptyEvents = "2025-11-25";

type FoundStreams = FoundSession & { readonly eventIds: SessionEventIds };

export interface ServeGetOptions {
  readonly parts: HandlerParts;
  readonly directory: SessionDirectory;
  /** Aborts when the process drains. */
  readonly closing: AbortSignal;
}

/**
 * Answers GETs: the listening stream, or the rest of a stream that broke. Both are read from the
 * store, so that it does not matter which replica the messages come from.
 */
export function createServeGet({ parts, directory, closing }: ServeGetOptions) {
  const { settings, emit, log, waker } = parts;
  const open = new Map<string, number>();

  /** Counts a session's streams; `undefined` when there are too many. */
  function enter(hash: string): (() => void) | undefined {
    const before = open.get(hash) ?? 0;
    if (before >= settings.limits.streamsPerSession) return undefined;
    open.set(hash, before + 1);
    return () => {
      const left = (open.get(hash) ?? 1) - 1;
      if (left > 0) open.set(hash, left);
      else open.delete(hash);
    };
  }

  function resume(session: FoundStreams, position: EventPosition) {
    const { bounds, pollIntervalMs } = settings;
    const onUnknown = () => emit({ type: "outcome-unknown", session: fingerprint(session.hash) });
    const options = { log, waker, bounds, pollIntervalMs, session, position, onUnknown };
    return (signal: AbortSignal) => resumeRequest(options, signal);
  }

  async function listen(session: FoundStreams, caller: Caller, url: string, after?: number) {
    // The server must live somewhere to have anything to say.
    const { live, release } = await directory.use(session, caller, url);
    async function isAlive(): Promise<boolean> {
      const record = await session.stored.load();
      if (record) await session.stored.renew();
      return record !== undefined && !live.closed.aborted;
    }
    const messages = (signal: AbortSignal) =>
      parts.standalone.listen(session, { after, isAlive }, signal);
    return { messages, release, signal: AbortSignal.any([live.closed, live.listening]) };
  }

  return async (request: Request, caller: Caller): Promise<Response> => {
    if (!request.headers.get("accept")?.includes("text/event-stream")) {
      const message = "Not Acceptable: Client must accept text/event-stream";
      return errorAnswer(406, -32000, message);
    }
    const sessionId = request.headers.get("mcp-session-id");
    if (sessionId === null) {
      return errorAnswer(400, -32000, "Bad Request: Mcp-Session-Id header is required");
    }
    const found = await directory.find(sessionId, caller);
    if (!found) return sessionNotFound();
    const session = { ...found, eventIds: await sessionEventIds(sessionId) };
    const refusal = checkVersion(request);
    if (refusal) return refusal;
    await session.stored.renew();

    const lastEventId = request.headers.get("last-event-id");
    const position = lastEventId === null ? undefined : session.eventIds.parse(lastEventId);
    if (lastEventId !== null && !position) {
      emit({ type: "refused", reason: "event-id" });
      return errorAnswer(400, -32000, "Bad Request: Last-Event-ID is not one of these streams");
    }
    const isStandalone = position === undefined || position.stream === standalone;
    // Some clients take only a result, not an error, for the end, and would come back for ever.
    if (!isStandalone && (await isFinished(log, session.hash, position))) {
      return new Response(null, { status: 204 });
    }
    const leave = enter(session.hash);
    if (!leave) {
      emit({ type: "refused", reason: "too-many-streams" });
      return errorAnswer(429, -32000, "Too many streams are open", {
        headers: { "Retry-After": "5" },
      });
    }
    const canPrime = session.stored.record.protocolVersion >= firstWithEmptyEvents;
    const common = {
      sessionId,
      keepAliveMs: settings.keepAliveMs,
      retryMs: settings.retryMs,
      onError: (error: unknown) => emit({ type: "failed", error }),
    };
    if (!isStandalone) {
      const rest = resume(session, position);
      return eventStreamAnswer({
        ...common,
        parts: (ended) => primedIf(canPrime, rest(ended)),
        signal: closing,
        onEnd: leave,
      });
    }
    try {
      const { messages, release, signal } = await listen(
        session,
        caller,
        request.url,
        position?.place,
      );
      return eventStreamAnswer({
        ...common,
        parts: (ended) => primedIf(canPrime, messages(ended)),
        signal: AbortSignal.any([closing, signal]),
        onEnd: () => {
          leave();
          release();
        },
      });
    } catch (error) {
      leave();
      throw error;
    }
  };
}

export function checkVersion(request: Request): Response | undefined {
  const version = request.headers.get("mcp-protocol-version");
  if (version === null || SUPPORTED_PROTOCOL_VERSIONS.includes(version)) return undefined;
  const supported = SUPPORTED_PROTOCOL_VERSIONS.join(", ");
  const message = `Bad Request: Unsupported protocol version (supported versions: ${supported})`;
  return errorAnswer(400, -32000, message);
}

async function* primedIf(
  canPrime: boolean,
  parts: AsyncIterable<StreamPart>,
): AsyncGenerator<StreamPart> {
  for await (const part of parts) if (canPrime || part.type === "message") yield part;
}
