import { type SessionEventIds, sessionEventIds, standalone } from "../streams/event-id.ts";
import { eventStreamAnswer, type StreamPart } from "../streams/event-stream-answer.ts";
import { isFinished, resumeRequest } from "../streams/resume-request.ts";
import type { Caller, FoundSession } from "../live/session-directory.ts";
import { errorAnswer, tooMany } from "./http-answer.ts";
import { type ServeContext, sessionOf } from "./serve-context.ts";

/** The first revision whose clients understand an event without data. */
const firstWithEmptyEvents = "2025-11-25";

interface StreamingSession extends FoundSession {
  readonly eventIds: SessionEventIds;
}

interface SessionStream {
  readonly parts: (signal: AbortSignal) => AsyncIterable<StreamPart>;
  /** Each ends the stream from this side. */
  readonly signals?: readonly AbortSignal[];
  /** Lets go of the session's server. */
  readonly release?: () => void;
}

/**
 * Answers GETs: the listening stream, or the rest of a stream that broke. Both are read from the
 * store, so that the messages may come from any replica.
 */
export function createServeGet(context: ServeContext) {
  const { settings, emit, log } = context;
  const enter = createStreamCount(settings.limits.streamsPerSession);

  return async (request: Request, caller: Caller): Promise<Response> => {
    if (!request.headers.get("accept")?.includes("text/event-stream")) {
      const message = "Not Acceptable: Client must accept text/event-stream";
      return errorAnswer(406, -32000, message);
    }
    const found = await sessionOf(context, request, caller);
    if (found instanceof Response) return found;
    const session = { ...found, eventIds: await sessionEventIds(found.sessionId) };
    await session.stored.renew();

    const lastEventId = request.headers.get("last-event-id");
    const position = lastEventId === null ? undefined : session.eventIds.parse(lastEventId);
    if (lastEventId !== null && !position) {
      emit({ type: "refused", reason: "event-id" });
      return errorAnswer(400, -32000, "Bad Request: Last-Event-ID is not one of these streams");
    }
    const broken = position?.stream === standalone ? undefined : position;
    // Some clients take only a result, not an error, for the end, and would come back for ever.
    if (broken && (await isFinished(log, session.stored.hash, broken))) {
      return new Response(null, { status: 204 });
    }
    const leave = enter(session.stored.hash);
    if (!leave) {
      emit({ type: "refused", reason: "too-many-streams" });
      return tooMany("Too many streams are open (limits.streamsPerSession). Close one.", 5);
    }
    try {
      const stream: SessionStream = broken
        ? { parts: (ended) => resumeRequest(context, session, broken, ended) }
        : await listen(context, session, caller, request.url, position?.place);
      return answer(context, session, stream, leave);
    } catch (error) {
      leave();
      throw error;
    }
  };
}

/** Counts the streams of each session. @returns `undefined` when there are too many */
function createStreamCount(max: number): (hash: string) => (() => void) | undefined {
  const open = new Map<string, number>();
  return (hash) => {
    const before = open.get(hash) ?? 0;
    if (before >= max) return undefined;
    open.set(hash, before + 1);
    return () => {
      const left = (open.get(hash) ?? 1) - 1;
      if (left > 0) open.set(hash, left);
      else open.delete(hash);
    };
  };
}

async function listen(
  { directory, standalone: streams }: ServeContext,
  session: StreamingSession,
  caller: Caller,
  url: string,
  after: number | undefined,
): Promise<SessionStream> {
  const { stored, eventIds } = session;
  // The messages come from the session's server, so one must live in some process.
  const { live, release } = await directory.use(session, caller, url);
  async function isAlive(): Promise<boolean> {
    const record = await stored.load();
    if (record) await stored.renew();
    return record !== undefined && !live.closed.aborted;
  }
  return {
    parts: (ended) => streams.listen({ stored, eventIds, after, isAlive }, ended),
    signals: [live.closed, live.listening],
    release,
  };
}

function answer(
  { settings, life, emit }: ServeContext,
  { sessionId, stored }: StreamingSession,
  { parts, signals = [], release }: SessionStream,
  leave: () => void,
): Response {
  const canPrime = stored.record.protocolVersion >= firstWithEmptyEvents;
  return eventStreamAnswer({
    sessionId,
    timeouts: settings.timeouts,
    parts: (ended) => (canPrime ? parts(ended) : messagesOnly(parts(ended))),
    signal: AbortSignal.any([life.draining, ...signals]),
    onEnd: () => {
      leave();
      release?.();
    },
    onError: (error) => emit({ type: "failed", error }),
  });
}

async function* messagesOnly(parts: AsyncIterable<StreamPart>): AsyncGenerator<StreamPart> {
  for await (const part of parts) if (part.type === "message") yield part;
}
