import { eventAnswer } from "../base/events.ts";
import { refusal } from "../base/answers.ts";
import { resumeCall, resumeOnServer } from "../session/resume-call.ts";
import type { Centre } from "../session/upstreams.ts";
import type { ClientSession } from "../session/client-session.ts";

/** A client's GET: the rest of an answer, or the stream of the server's own messages. */
export async function serveGet(
  centre: Centre,
  session: ClientSession,
  request: Request,
): Promise<Response> {
  session.noteUse();
  const lastEventId = request.headers.get("last-event-id");
  if (lastEventId === null) return await listen(session);
  const place = session.events.open(lastEventId);
  if (place === undefined)
    return refusal(400, "This Last-Event-ID is not of this session. Make the request again.");
  const { requestId } = place;
  if (requestId !== null) return resumeCall(centre, session, { ...place, requestId }, lastEventId);
  const missed = place.era === session.era ? await resumeOnServer(session, lastEventId) : undefined;
  return missed ? eventAnswer(missed) : await listen(session);
}

/** The stream of the server's messages. A client that opens another has left the one before. */
async function listen(session: ClientSession): Promise<Response> {
  const { upstream } = session;
  await session.stopListening?.();
  const leaving = new AbortController();
  const headers = { accept: "text/event-stream" };
  const { signal } = leaving;
  const response = await upstream.fetch(upstream.url, { headers, signal }).catch(() => undefined);
  if (!response?.ok || !response.body) {
    await response?.body?.cancel().catch(() => undefined);
    const isOffered = response !== undefined && response.status !== 405;
    return isOffered
      ? refusal(502, "The server has refused the stream.")
      : refusal(405, "The server has no such stream.", undefined, { allow: "POST, DELETE" });
  }
  const reader = response.body.getReader();
  let own: ReadableStreamDefaultController<Uint8Array> | undefined;
  const over = () => {
    if (session.stopListening === stop) session.stopListening = undefined;
  };
  const stop = async () => {
    over();
    await reader.cancel().catch(() => undefined);
    own?.close();
    own = undefined;
  };
  session.stopListening = stop;
  return eventAnswer(
    new ReadableStream<Uint8Array>({
      start(controller) {
        own = controller;
      },
      async pull(controller) {
        const { value } = await reader.read().catch(() => ({ value: undefined }));
        if (own === undefined) return;
        if (value !== undefined) return controller.enqueue(value);
        over();
        own = undefined;
        controller.close();
      },
      async cancel() {
        own = undefined;
        over();
        await reader.cancel().catch(() => undefined);
      },
    }),
  );
}
