import { type JsonRpcId, within } from "@durable-mcp/core/internal";
import { failureText, noAnswer } from "../base/answers.ts";
import type { EventPlace } from "../base/event-ids.ts";
import { eventAnswer, messageEvent, primingEvent, utf8 } from "../base/events.ts";
import type { Centre } from "./upstreams.ts";
import type { ClientSession } from "./client-session.ts";
import { type ServerEvent, textAfter } from "./call-stream.ts";
import { findLeftAnswer } from "./left-answers.ts";

/** A resumed stream that is silent for this long is asked for again, in milliseconds, and then for twice as long. */
const askAgainMs = 4_000;

/**
 * The rest of an answer, for a client that comes back: from this process, from the server, or from the process that
 * holds the call. Without any of them the answer is that nobody knows.
 *
 * @param lastEventId as the client gave it
 */
export function resumeCall(
  centre: Centre,
  session: ClientSession,
  { requestId, ...place }: EventPlace & { readonly requestId: JsonRpcId },
  lastEventId: string,
): Response {
  const call = session.calls.get(JSON.stringify(requestId));
  const own = call?.resume(lastEventId);
  if (own !== undefined) return eventAnswer(own);
  session.noteRequest(requestId, place.kind);
  const over = new AbortController();
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;

  let at: ServerEvent = place;
  const fromServer = async (next: ServerEvent) => {
    at = next;
    if (at.eventId === "" || at.era !== session.era) return undefined;
    const { eventId, era } = at;
    return await resumeOnServer(
      session,
      session.events.seal({ ...place, era, eventId, requestId }),
    );
  };
  async function* rest(): AsyncGenerator<Uint8Array> {
    // Some clients only come back again to a stream that has begun with an id.
    yield session.takesPriming ? primingEvent(lastEventId) : utf8(": \n\n");
    let stream = await fromServer(place);
    if (stream === undefined) {
      const last = call?.isLeft ? session.lastEvent(requestId) : undefined;
      const left = last
        ? { stream: call?.textSoFar() ?? "", next: last }
        : await findLeftAnswer(centre, session, requestId, over.signal);
      if (over.signal.aborted) return;
      if (left) yield utf8(textAfter(left.stream, lastEventId) ?? left.stream);
      if (left && !left.next) return;
      stream = left?.next && (await fromServer(left.next));
    }
    if (stream === undefined) {
      const text = failureText(undefined);
      yield messageEvent(noAnswer(requestId, place.kind === "call", text));
      return;
    }
    for (let silentMs = askAgainMs; stream && !over.signal.aborted; silentMs *= 2) {
      reader = stream.getReader();
      let reading = reader.read();
      // What the server has meanwhile, it only gives to who asks again, as some do.
      while (await within(Math.min(silentMs, 60_000), reading)) {
        const { value } = await reading;
        if (value === undefined) return;
        silentMs = askAgainMs;
        yield value;
        reading = reader.read();
      }
      void reader.cancel().catch(() => undefined);
      stream = await fromServer(session.lastEvent(requestId) ?? at);
    }
  }
  return eventAnswer(
    streamOf(rest(), () => {
      over.abort("left");
      void reader?.cancel().catch(() => undefined);
    }),
  );
}

/** The server's stream after an event; `undefined` if it does not resume it. */
export async function resumeOnServer(
  { upstream }: ClientSession,
  sealed: string,
): Promise<ReadableStream<Uint8Array> | undefined> {
  const headers = { accept: "text/event-stream", "last-event-id": sealed };
  const response = await upstream.fetch(upstream.url, { headers }).catch(() => undefined);
  const isStream = response?.ok && response.headers.get("content-type") === "text/event-stream";
  if (isStream && response.body) return response.body;
  void response?.body?.cancel().catch(() => undefined);
  return undefined;
}

function streamOf(
  parts: AsyncGenerator<Uint8Array>,
  onCancel: () => void,
): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await parts.next();
        if (controller.desiredSize === null) return;
        if (done) controller.close();
        else controller.enqueue(value);
      } catch {
        // The client comes back, or has left.
        if (controller.desiredSize !== null) controller.close();
      }
    },
    cancel: onCancel,
  });
}
