import { isEventStream, letGo } from "@durable-mcp/core/internal";
import { refusal } from "../base/answers.ts";
import { eventAnswer, partsOf, streamOf } from "../base/events.ts";
import type { ClientSession } from "../session/client-session.ts";
import { resumeCall } from "../session/resume-call.ts";
import type { Centre } from "../session/upstreams.ts";

/** A client's GET: the rest of an answer, or the stream of the server's own messages. */
export async function serveGet(
  centre: Centre,
  session: ClientSession,
  { headers }: Request,
): Promise<Response> {
  const lastEventId = headers.get("last-event-id");
  if (lastEventId === null) return await listen(session);
  const place = session.events.open(lastEventId);
  if (place === undefined)
    return refusal(400, "This Last-Event-ID is not of this session. Make the request again.");
  const { requestId, era } = place;
  if (requestId !== null) return resumeCall(centre, session, { ...place, requestId }, lastEventId);
  const missed = era === session.era ? await session.upstream.resume(lastEventId) : undefined;
  return missed ? eventAnswer(missed) : await listen(session);
}

/** The stream of the server's messages. A client that opens another has left the one before. */
async function listen(session: ClientSession): Promise<Response> {
  await session.stopListening?.();
  const response = await session.upstream.listen().catch(() => undefined);
  if (!isEventStream(response)) {
    letGo(response);
    return response === undefined || response.status === 405
      ? refusal(405, "The server has no such stream.", { headers: { allow: "POST, DELETE" } })
      : refusal(502, "The server has refused the stream.");
  }
  const reader = response.body.getReader();
  const stop = async () => {
    if (session.stopListening === stop) session.stopListening = undefined;
    await reader.cancel().catch(() => undefined);
  };
  session.stopListening = stop;
  const withNews = new TransformStream<Uint8Array, Uint8Array>({
    start: (controller) => void (session.onNews = (event) => controller.enqueue(event)),
    flush: () => void (session.onNews = undefined),
  });
  return eventAnswer(streamOf(partsOf(reader), stop).pipeThrough(withNews));
}
