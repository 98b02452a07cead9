import { bufferAnswer, toResponse } from "../session/buffered-answer.ts";
import { sendOn, type SessionContext } from "../session/session-context.ts";
import { headersForClient } from "../session/session-headers.ts";
import { liveSession } from "../session/session-life.ts";
import { emptyAnswer } from "../wire/json-rpc.ts";
import { isEventStream } from "../wire/read-answer.ts";
import type { OutgoingRequest } from "../wire/server-endpoint.ts";
import { createEventAnswerStream } from "./answer-stream.ts";
import { createRestorer } from "./restore-answer.ts";

/**
 * Sends a client's GET that resumes a stream (`Last-Event-ID`). A lost session's stream cannot be resumed
 * on another session.
 */
export async function resumeStream(
  context: SessionContext,
  request: OutgoingRequest,
): Promise<Response> {
  const live = liveSession(context.state);
  if (live === undefined) return emptyAnswer(405);
  const response = await sendOn(context, live, request);
  if (!isEventStream(response)) return toResponse(await bufferAnswer(response, live));
  const restorer = createRestorer(context, undefined, () => live);
  const { signal } = request;
  const body = createEventAnswerStream({ body: response.body, restorer, signal });
  return new Response(body, { headers: headersForClient(response.headers) });
}
