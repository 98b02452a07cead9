import { abortable, anySignal, wait, within } from "../base/bounded-wait.ts";
import { bufferAnswer, toResponse } from "../session/buffered-answer.ts";
import { sendOn, type SessionContext } from "../session/session-context.ts";
import { waitForLive } from "../session/session-life.ts";
import { type LiveSession, sameSession } from "../session/slot-state.ts";
import { lastEventIdHeader } from "./resume-stream.ts";
import { emptyAnswer } from "../wire/json-rpc.ts";
import { emptyStream, isEventStream, letGo } from "../wire/read-answer.ts";
import type { OutgoingRequest } from "../wire/server-endpoint.ts";
import { createEventAnswerStream } from "./answer-stream.ts";
import { createRestorer } from "./restore-answer.ts";

/** Waiting times, in milliseconds, while the stream of the step before still closes. */
const conflictDelaysMs = [50, 100, 200, 400];
/** Requests wait for the stream at most this long, in milliseconds, because some servers answer late. */
const maxHoldMs = 1_000;
/** The stream of one session is opened again at most this often after it broke. */
const maxReconnects = 5;

/**
 * Answers a client's GET that listens for server messages. It waits until the session is acknowledged.
 * There is never a second listening stream.
 *
 * The client's stream lasts until the client ends it. Behind it, the server's stream is opened again when
 * it breaks, and the new session's stream is opened after a recovery.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#listening-for-messages-from-the-server
 */
export async function listen(context: SessionContext, request: OutgoingRequest): Promise<Response> {
  if (context.state.stream.isOpen) return emptyAnswer(405);
  return await abortable(openStream(context, request), request.signal);
}

async function openStream(context: SessionContext, request: OutgoingRequest): Promise<Response> {
  const { state } = context;
  /** Aborts when the client's stream is over. */
  const over = new AbortController();
  const signal = anySignal(over.signal, request.signal);
  const onEnd = () => {
    state.stream.isOpen = false;
    over.abort("over");
  };
  state.stream.isOpen = true;
  try {
    const live = await waitForLive(state, request.signal);
    const stream = createListeningStream(context, request, live, signal);
    const first = await stream.first();
    const { status } = first;
    if (!isEventStream(first) && status !== 404) {
      const refusal = await bufferAnswer(first, stream.session());
      onEnd();
      // The server has no such stream, or has one already.
      return status === 405 || status === 409 ? emptyAnswer(405) : toResponse(refusal);
    }
    // A 404 may mean that the session is lost. The next request will show it.
    const opened = isEventStream(first) ? first.body : emptyStream();
    if (!isEventStream(first)) letGo(first);
    const { lasting } = context;
    const body = createEventAnswerStream({
      body: opened,
      seal: lasting && ((eventId) => lasting.seal(eventId, undefined)),
      restore: createRestorer(context, undefined, stream.session),
      signal: request.signal,
      resume: stream.next,
      onEnd,
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  } catch (error) {
    onEnd();
    throw error;
  }
}

/** The server's stream behind a client's, of one session after the other, until `signal` aborts. */
function createListeningStream(
  context: SessionContext,
  request: OutgoingRequest,
  firstSession: LiveSession,
  signal: AbortSignal,
) {
  const { state } = context;
  let session = firstSession;
  /** Aborts when another session takes the place of this one. */
  let replaced = new AbortController();
  let reconnects = 0;
  /** An event id of the session before. This session does not know it. */
  let foreignEventId = "";
  let newestEventId = "";

  const open = (lastEventId: string): Promise<Response> => {
    const answer = openOn(context, request, session, {
      lastEventId,
      signal: anySignal(signal, replaced.signal),
    });
    // Requests wait for the stream, so that the server can ask back from the first call on.
    state.stream.opening = within(maxHoldMs, answer).catch(() => undefined);
    return answer;
  };

  const watch = () => {
    state.liveListeners.add((live) => {
      if (signal.aborted) return;
      watch();
      if (sameSession(live, session)) return;
      session = live;
      reconnects = 0;
      foreignEventId = newestEventId;
      const before = replaced;
      replaced = new AbortController();
      opening = open("");
      before.abort(new DOMException("The session was replaced.", "AbortError"));
    });
  };
  let opening: Promise<Response> | undefined = open("");
  watch();

  /** The answer to the GET under way, or to the one of another session that overtook it. */
  const opened = async (): Promise<Response> => {
    for (;;) {
      const current = opening ?? open("");
      try {
        const response = await current;
        if (opening === current) opening = undefined;
        // Only another session can change a 404.
        if (response.status === 404) reconnects = maxReconnects;
        return response;
      } catch (error) {
        signal.throwIfAborted();
        if (opening === current) opening = undefined;
        if (opening === undefined) throw error;
      }
    }
  };

  /** The next stream after one is over; waits for it as long as the client's stream lasts. */
  const next = async (lastEventId: string, retryMs = 1_000) => {
    newestEventId = lastEventId;
    for (;;) {
      if (opening === undefined) {
        reconnects += 1;
        // Another session cuts the wait short.
        await paused(reconnects > maxReconnects ? undefined : retryMs, replaced.signal, signal);
        opening ??= open(lastEventId === foreignEventId ? "" : lastEventId);
      }
      const response = await opened().catch(() => undefined);
      signal.throwIfAborted();
      if (isEventStream(response)) return response.body;
      letGo(response);
    }
  };

  return { session: () => session, first: opened, next };
}

/** Waits for so long, or until another session comes. @throws the reason why the client's stream is over */
async function paused(ms: number | undefined, replaced: AbortSignal, over: AbortSignal) {
  const both = anySignal(over, replaced);
  const pause = ms === undefined ? abortable(new Promise(() => {}), both) : wait(ms, both);
  await pause.catch(() => undefined);
  over.throwIfAborted();
}

/** Opens the stream of a session. */
async function openOn(
  context: SessionContext,
  request: OutgoingRequest,
  session: LiveSession,
  { lastEventId, signal }: { readonly lastEventId: string; readonly signal: AbortSignal },
): Promise<Response> {
  const { stream } = context.state;
  const headers = new Headers(request.headers);
  const eventId = lastEventIdHeader(lastEventId);
  if (eventId !== undefined) headers.set("last-event-id", eventId);
  const get = () => sendOn(context, session, { ...request, headers, signal });
  const response = await withoutConflict(get, signal);
  const takenOn = response.status === 409 ? session : undefined;
  if (takenOn && !stream.takenOn) context.emit({ type: "stream-taken" });
  stream.takenOn = takenOn;
  return response;
}

/** Tries again while the server answers that it has such a stream already. */
async function withoutConflict(
  get: () => Promise<Response>,
  signal: AbortSignal,
): Promise<Response> {
  for (const delayMs of conflictDelaysMs) {
    const response = await get();
    if (response.status !== 409) return response;
    letGo(response);
    await wait(delayMs, signal);
  }
  return await get();
}
