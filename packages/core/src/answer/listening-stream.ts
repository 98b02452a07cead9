import { abortable, wait } from "../base/bounded-wait.ts";
import { sendOn, type SessionContext } from "../session/session-context.ts";
import { type LiveSession, sameSession, type SlotState } from "../session/session-life.ts";
import type { OutgoingRequest } from "../wire/server-endpoint.ts";
import { isEventStream, letGo } from "../wire/read-answer.ts";

/** Waiting times, in milliseconds, while the stream of the step before still closes. */
const conflictDelaysMs = [50, 100, 200, 400];
/** Requests wait for the stream at most this long, in milliseconds, because some servers answer late. */
const maxHoldMs = 1_000;
const defaultRetryMs = 1_000;
/** The stream of one session is opened again at most this often after it broke. */
const maxReconnects = 5;

/**
 * The server's stream of messages behind a client's stream, of one session after the other.
 *
 * @param signal aborts when the client's stream is over
 */
export function createListeningStream(
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
    const both = AbortSignal.any([signal, replaced.signal]);
    const headers = new Headers(request.headers);
    if (lastEventId !== "") headers.set("last-event-id", lastEventId);
    const on = session;
    const get = () => sendOn(context, on, { ...request, headers, signal: both });
    const opening = withoutConflict(get, both);
    holdRequests(state, opening);
    return opening;
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

  /** Waits before the same session's stream is opened again. Another session cuts the wait short. */
  const pause = async (retryMs: number) => {
    const both = AbortSignal.any([signal, replaced.signal]);
    reconnects += 1;
    const isOver = reconnects > maxReconnects;
    const pausing = isOver ? abortable(new Promise<void>(() => {}), both) : wait(retryMs, both);
    await pausing.catch(() => undefined);
    signal.throwIfAborted();
  };

  /** The next stream after one is over; waits for it as long as the client's stream lasts. */
  const next = async (lastEventId: string, retryMs = defaultRetryMs) => {
    newestEventId = lastEventId;
    for (;;) {
      if (opening === undefined) {
        await pause(retryMs);
        opening ??= open(lastEventId === foreignEventId ? "" : lastEventId);
      }
      const response = await opened().catch(() => undefined);
      signal.throwIfAborted();
      if (isEventStream(response)) return response.body;
      await letGo(response);
    }
  };

  return { session: () => session, first: opened, next };
}

/** Tries again while the server answers that it has such a stream already. */
async function withoutConflict(
  get: () => Promise<Response>,
  signal: AbortSignal,
): Promise<Response> {
  for (const delayMs of conflictDelaysMs) {
    const response = await get();
    if (response.status !== 409) return response;
    await letGo(response);
    await wait(delayMs, signal);
  }
  return await get();
}

/** Makes requests wait for the stream, so that the server can ask back from the first call on. */
function holdRequests({ stream }: SlotState, opening: Promise<Response>): void {
  const bound = new AbortController();
  const release = () => bound.abort("opened");
  opening.then(release, release);
  // It rejects if the stream was opened, or refused, in time.
  stream.opening = wait(maxHoldMs, bound.signal).catch(() => undefined);
}
