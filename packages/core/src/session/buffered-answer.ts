import { isRecord } from "../base/json-values.ts";
import { type JsonRpcId } from "../wire/json-rpc.ts";
import { classifyLoss, type RefusedAnswer, type SessionLoss } from "./lost-session.ts";
import { McpSessionError } from "../base/mcp-session-error.ts";
import { readText } from "../wire/read-text.ts";
import { scrubHeaders, scrubSessionId } from "../wire/scrub-session-id.ts";
import { headersForClient } from "./session-headers.ts";
import type { LiveSession } from "./live-session.ts";

/** More than any refusal says. */
const maxRefusalBytes = 1_048_576;

/** An answer that was read whole, so that each waiting client can be given a copy. */
export interface BufferedAnswer extends RefusedAnswer {
  /** What it says of the session that the request was sent on. */
  readonly loss: SessionLoss;
}

export async function bufferAnswer(
  response: Response,
  session?: LiveSession,
  /** The application's own judgement, where it has one. */
  classify?: (answer: RefusedAnswer) => SessionLoss | undefined,
): Promise<BufferedAnswer> {
  const { status } = response;
  const received = headersForClient(response.headers);
  const text = await readText(response, maxRefusalBytes);
  if (session?.kind !== "session") {
    return { status, headers: received, body: text, loss: "none" };
  }
  const headers = scrubHeaders(received, session.sessionId);
  const body = scrubSessionId(text, session.sessionId);
  const loss = ownLoss(classify, { status, headers, body }) ?? classifyLoss({ status, body: text });
  return { status, headers, body, loss };
}

/** What the application says; its own errors must not be taken for those of the network. */
function ownLoss(
  classify: ((answer: RefusedAnswer) => SessionLoss | undefined) | undefined,
  answer: RefusedAnswer,
): SessionLoss | undefined {
  try {
    return classify?.(answer);
  } catch (cause) {
    throw new McpSessionError(
      "CONNECTION_INVALID",
      `classifyLoss threw on an answer with HTTP ${answer.status}; the cause says why. It must return "definite", "probable", "none" or undefined.`,
      { data: { field: "classifyLoss", status: answer.status }, cause },
    );
  }
}

export function toResponse({ status, headers, body }: BufferedAnswer): Response {
  return new Response(body === "" ? null : body, { status, headers });
}

/** A copy under the id that the client waits for, where the body is a message with an id. */
export function toResponseFor(id: JsonRpcId, answer: BufferedAnswer): Response {
  let body = answer.body;
  try {
    const message: unknown = JSON.parse(body);
    if (isRecord(message) && message["id"] != null) body = JSON.stringify({ ...message, id });
  } catch {
    // Not JSON: it goes to the client as it is.
  }
  return toResponse({ ...answer, body });
}

/** 401, 403, 429 and 5xx: the client's or the application's to handle, never a lost session. */
export function isAuthOrOutage({ status }: BufferedAnswer): boolean {
  return status === 401 || status === 403 || status === 429 || status >= 500;
}
