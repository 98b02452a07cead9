import { type JsonRpcRequest, McpSessionError } from "@durable-mcp/core";
import {
  isRecord,
  type JsonRpcId,
  type JsonRpcMessage,
  readRefusal,
  within,
} from "@durable-mcp/core/internal";
import {
  errorResult,
  failureText,
  isPlainCall,
  messageAnswer,
  noAnswer,
  refusal,
  refusedText,
} from "../base/answers.ts";
import { asEvent, eventAnswer } from "../base/events.ts";
import { CallStream } from "../session/call-stream.ts";
import { leaveAnswer } from "../session/left-answers.ts";
import type { Centre } from "../session/upstreams.ts";
import type { ClientSession } from "../session/client-session.ts";

/** What goes up with each message. Nothing that the client says of itself does: neither its token nor its cookies. */
const headers = {
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
};

/** An answer that comes within this time is sent as it comes, in milliseconds. Others begin with an event id. */
const quickMs = 20;
const notNow = "The gateway cannot look at its store now. Ask again later.";

/** Sends a client's message on its session. @returns `ended` if there is no such session any more */
export async function servePost(
  centre: Centre,
  session: ClientSession,
  message: JsonRpcMessage | undefined,
  body: string,
): Promise<Response | "ended"> {
  session.noteUse();
  const { fetch, url } = session.upstream;
  const send = () => fetch(url, { method: "POST", headers, body });
  if (message === undefined || !isRequest(message)) return await oneWay(session, message, send);
  const { waiting } = session;
  if (waiting?.takes(message))
    return messageAnswer(
      await waiting.result(message).catch(() => errorResult(message.id, notNow)),
    );
  const isCall = isPlainCall(message);
  session.noteRequest(message.id, isCall ? "call" : "request");
  let isEnded = false;
  const sending = send().then(
    (response) => readable(message, isCall, response),
    async (error: unknown) => {
      isEnded = McpSessionError.isInstance(error) && error.code === "SESSION_LOST";
      isEnded &&= await centre.isEnded(session.of).catch(() => false);
      return messageAnswer(noAnswer(message.id, isCall, failureText(error)));
    },
  );
  const isQuick = !session.takesPriming || (await within(quickMs, sending));
  const quick = isQuick ? await sending : undefined;
  if (quick !== undefined && !isEvents(quick)) {
    session.forgetRequest(message.id);
    return isEnded ? "ended" : quick;
  }
  const call = openCall(centre, session, message.id, isCall);
  const reading = async (response: Response) => {
    if (!response.body) return call.leave();
    await call.read(isEvents(response) ? response.body : asEvent(response.body));
  };
  if (quick) void reading(quick);
  else void sending.then(reading);
  return eventAnswer(call.begin());
}

/** A notification, or the client's answer to a question. Nobody waits for what comes back. */
async function oneWay(
  session: ClientSession,
  message: JsonRpcMessage | undefined,
  send: () => Promise<Response>,
): Promise<Response> {
  const { method, params } = message && "method" in message ? message : {};
  const cancelled = method === "notifications/cancelled" ? params?.["requestId"] : undefined;
  const call = cancelled === undefined ? undefined : session.calls.get(JSON.stringify(cancelled));
  // Some clients cancel each call that is over.
  if (call?.isOver) return new Response(null, { status: 202 });
  try {
    const response = await send();
    // A batch has answers.
    if (response.ok && message === undefined) return response;
    void response.body?.cancel().catch(() => undefined);
    return response.ok
      ? new Response(null, { status: 202 })
      : refusal(502, `The server refused the message (HTTP ${response.status}).`);
  } catch {
    return refusal(502, "The message could not be sent to the server.");
  }
}

/** The server's answer as a client can read it: what refuses a request is an answer, too. */
async function readable(
  { id }: JsonRpcRequest,
  isCall: boolean,
  response: Response,
): Promise<Response> {
  const type = response.headers.get("content-type") ?? "";
  if (response.ok && /^(?:application\/json|text\/event-stream)\b/.test(type)) return response;
  const text = await readRefusal(response).catch(() => "");
  const error = errorIn(text);
  if (error !== undefined) return messageAnswer({ jsonrpc: "2.0", id, error });
  const words = response.ok ? failureText(undefined) : refusedText(response);
  return messageAnswer(noAnswer(id, isCall, words));
}

function errorIn(text: string) {
  try {
    const message: unknown = JSON.parse(text);
    const error = isRecord(message) ? message["error"] : undefined;
    if (!isRecord(error) || typeof error["code"] !== "number") return undefined;
    return error as { readonly code: number; readonly message: string };
  } catch {
    return undefined;
  }
}

/** The stream of a call, which outlives its client. */
function openCall(
  centre: Centre,
  session: ClientSession,
  id: JsonRpcId,
  isCall: boolean,
): CallStream {
  const { calls, events, era, takesPriming } = session;
  const key = JSON.stringify(id);
  const kind = isCall ? "call" : "request";
  const priming = takesPriming ? events.seal({ era, kind, requestId: id, eventId: "" }) : undefined;
  const call = new CallStream({
    priming,
    onLeft() {
      const last = session.lastEvent(id);
      // The server keeps the answer for whoever resumes its stream.
      if (last !== undefined) call.leave();
      if (priming !== undefined) void leaveAnswer(centre, session, id, call, last);
    },
    onOver() {
      session.dropOldCalls();
      // Nobody comes back to it.
      if (priming === undefined && calls.get(key) === call) session.forgetRequest(id);
    },
  });
  calls.delete(key);
  calls.set(key, call);
  return call;
}

function isEvents({ headers: given }: Response): boolean {
  return given.get("content-type")?.startsWith("text/event-stream") === true;
}

export function isRequest(message: JsonRpcMessage): message is JsonRpcRequest {
  return "method" in message && "id" in message && ["string", "number"].includes(typeof message.id);
}
