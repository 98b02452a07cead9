import type { Reply } from "../base/reply.ts";
import type { ServedRequest } from "../base/served-request.ts";
import type { StoredSession } from "../records/stored-session.ts";
import { type SessionEventIds, sessionEventIds } from "../streams/event-id.ts";
import { eventStreamAnswer, type StreamPart } from "../streams/event-stream-answer.ts";
import { canPrime } from "../streams/priming.ts";
import { type BrokenStream, isFinished, resumeCall } from "../streams/resume-call.ts";
import type { Caller, FoundSession } from "../live/session-directory.ts";
import { errorAnswer, tooMany } from "./http-answer.ts";
import { type ServeContext, sessionOf } from "./serve-context.ts";

interface StreamingSession extends FoundSession {
  readonly stored: StoredSession;
  readonly eventIds: SessionEventIds;
}

interface SessionStream {
  readonly parts: (signal: AbortSignal) => AsyncIterable<StreamPart>;
  /** The event id that the client sent. */
  readonly resumedFrom?: string | undefined;
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
  const { settings, emit, sessions } = context;
  const enter = createStreamCount(settings.limits.streamsPerSession);

  return async (request: ServedRequest, caller: Caller): Promise<Reply> => {
    if (!request.header("accept")?.includes("text/event-stream")) {
      const message = "Not Acceptable: Client must accept text/event-stream";
      return errorAnswer(406, -32000, message);
    }
    const found = await sessionOf(context, request, caller);
    if ("refusal" in found) return found.refusal;
    const eventIds = await sessionEventIds(found.session.sessionId);
    const stored = sessions.bind(found.session.found);
    const session = { ...found.session, stored, eventIds };
    await stored.renew();

    const lastEventId = request.header("last-event-id");
    const position = lastEventId === null ? undefined : eventIds.parse(lastEventId);
    if (lastEventId !== null && !position) {
      emit({ type: "refused", reason: "event-id" });
      return errorAnswer(400, -32000, "Bad Request: Last-Event-ID is not one of these streams");
    }
    const { call, place = 0 } = position ?? {};
    const { owner } = stored.record;
    const broken: BrokenStream | undefined = call && {
      hash: stored.hash,
      owner,
      eventIds,
      call,
      place,
    };
    // Some clients take only a result, not an error, for the end, and would come back for ever.
    if (broken && (await isFinished(context, broken))) return { status: 204, headers: {} };
    const leave = enter(stored.hash);
    if (!leave) {
      emit({ type: "refused", reason: "too-many-streams" });
      return tooMany("Too many streams are open (limits.streamsPerSession). Close one.", 5);
    }
    try {
      const stream: SessionStream = broken
        ? { parts: (ended) => resumeCall(context, broken, ended) }
        : await listen(context, session, caller, position?.place);
      const resumedFrom = position && eventIds.of(call)(place);
      return answer(context, session, { ...stream, resumedFrom }, leave);
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
  after: number | undefined,
): Promise<SessionStream> {
  const { stored, eventIds } = session;
  // The messages come from the session's server, so one must live in some process.
  const { live, release } = await directory.use(session, caller);
  async function isAlive(): Promise<boolean> {
    const record = await stored.load();
    if (record) await stored.renew();
    return record !== undefined && !live.closed.aborted;
  }
  return {
    parts: (ended) => streams.listen({ stored, eventIds, after, isAlive }, ended),
    signals: [live.closed, live.listening()],
    release,
  };
}

function answer(
  { settings, life, emit }: ServeContext,
  { sessionId, stored }: StreamingSession,
  { parts, resumedFrom, signals = [], release }: SessionStream,
  leave: () => void,
): Reply {
  const isPrimed = canPrime(stored.record.protocolVersion);
  return eventStreamAnswer({
    sessionId,
    timeouts: settings.timeouts,
    resumedFrom: isPrimed ? resumedFrom : undefined,
    parts: (ended) => (isPrimed ? parts(ended) : messagesOnly(parts(ended))),
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
