import { type JsonRpcRequest, McpSessionError } from "@durable-mcp/core";
import {
  isEventStream,
  type JsonRpcId,
  type JsonRpcMessage,
  letGo,
  parseMessages,
  readRefusal,
  within,
} from "@durable-mcp/core/internal";
import {
  errorResult,
  failureText,
  isPlainCall,
  isRequest,
  messageAnswer,
  noAnswer,
  refusal,
  refusedText,
} from "../base/answers.ts";
import { asEvent, eventAnswer } from "../base/events.ts";
import { CallStream } from "../session/call-stream.ts";
import type { ClientSession, RequestNote } from "../session/client-session.ts";
import { leaveAnswer } from "../session/left-answers.ts";
import type { Centre } from "../session/upstreams.ts";

/** An answer that comes within this time is sent as it comes, in milliseconds. Others begin with an event id. */
const quickMs = 20;
const notNow = "The gateway cannot look at its store now. Ask again later.";

/** Sends a client's message on its session. @returns `undefined` if there is no such session any more */
export async function servePost(
  centre: Centre,
  session: ClientSession,
  message: JsonRpcMessage | undefined,
  body: string,
): Promise<Response | undefined> {
  if (message === undefined || !isRequest(message)) return await oneWay(session, message, body);
  const { id } = message;
  if (session.waiting?.takes(message)) {
    const result = session.waiting.result(message);
    return messageAnswer(await result.catch(() => errorResult(id, notNow)));
  }
  const note = session.noteRequest(id, isPlainCall(message) ? "call" : "request");
  let isEnded = false;
  const toldEra = session.toldEra();
  const sending = session.upstream.postInsistently(body).then(
    async (response) => {
      const answer = await readable(message, response);
      return toldEra === session.era ? answer : afterTelling(session, answer);
    },
    async (error: unknown) => {
      const isLost = McpSessionError.isInstance(error) && error.code === "SESSION_LOST";
      isEnded = isLost && (await centre.isEnded(session.of).catch(() => false));
      return messageAnswer(noAnswer(id, isPlainCall(message), failureText(error)));
    },
  );
  const isQuick = !session.takesPriming || (await within(quickMs, sending));
  const quick = isQuick ? await sending : undefined;
  if (quick !== undefined && !isEventStream(quick)) {
    session.forgetRequest(id, note);
    return isEnded ? undefined : quick;
  }
  const call = openCall(centre, session, id, note);
  const reading = async () => {
    const response = await sending;
    await call.read(isEventStream(response) ? response.body : asEvent(response.body!));
  };
  void reading();
  return eventAnswer(call.begin());
}

/** A notification, or the client's answer to a question. Nobody waits for what comes back. */
async function oneWay(
  session: ClientSession,
  message: JsonRpcMessage | undefined,
  body: string,
): Promise<Response> {
  const { method, params } = message && "method" in message ? message : {};
  const isCancel = method === "notifications/cancelled";
  // Some clients cancel each call that is over.
  if (isCancel && session.requestOf(params?.["requestId"])?.call?.isOver)
    return new Response(null, { status: 202 });
  const response = await session.upstream.postInsistently(body).catch(() => undefined);
  if (response === undefined) return refusal(502, "The message could not be sent to the server.");
  // A batch has answers.
  if (response.ok && message === undefined) return response;
  letGo(response);
  return response.ok
    ? new Response(null, { status: 202 })
    : refusal(502, `The server refused the message (HTTP ${response.status}).`);
}

/** The server's answer as a client can read it: what refuses a request is an answer, too. */
async function readable(request: JsonRpcRequest, response: Response): Promise<Response> {
  const type = response.headers.get("content-type") ?? "";
  if (response.ok && /^(?:application\/json|text\/event-stream)\b/i.test(type)) return response;
  const { id } = request;
  const [refused] = parseMessages(await readRefusal(response).catch(() => ""))?.messages ?? [];
  const error = refused && "error" in refused ? refused.error : undefined;
  if (typeof error?.code === "number") return messageAnswer({ jsonrpc: "2.0", id, error });
  const words = response.ok ? failureText(undefined) : refusedText(response);
  return messageAnswer(noAnswer(id, isPlainCall(request), words));
}

/** An answer that waits until other processes know what it tells. */
function afterTelling(session: ClientSession, response: Response): Response {
  const waiting = new TransformStream<Uint8Array, Uint8Array>({
    async transform(chunk, controller) {
      await session.told();
      controller.enqueue(chunk);
    },
  });
  return new Response(response.body?.pipeThrough(waiting) ?? null, response);
}

/** The stream of a call, which outlives its client. */
function openCall(
  centre: Centre,
  session: ClientSession,
  requestId: JsonRpcId,
  note: RequestNote,
): CallStream {
  const { events, era, takesPriming } = session;
  const { kind } = note;
  const priming = takesPriming ? events.seal({ era, kind, requestId, eventId: "" }) : undefined;
  const call = new CallStream({
    priming,
    beginWith: (id) => session.priming(id),
    onLeft() {
      const { last } = note;
      // The server keeps the answer for whoever resumes its stream.
      if (last !== undefined) call.leave();
      if (priming !== undefined) void leaveAnswer(centre, session, requestId, call, last);
    },
    onOver() {
      session.dropOldCalls();
      // Nobody comes back to it.
      if (priming === undefined) session.forgetRequest(requestId, note);
    },
  });
  note.call = call;
  return call;
}
