import { McpSessionError, type JsonRpcRequest } from "@durable-mcp/core";
import { randomToken, readAnswer, readRefusal } from "@durable-mcp/core/internal";
import { failureText, messageAnswer } from "../base/answers.ts";
import type { SessionName } from "../session/upstreams.ts";
import { type ClientSession, namesOf } from "../session/client-session.ts";
import type { ClientSessions } from "../session/client-sessions.ts";

const headers = {
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
};

/**
 * Sends a client's `initialize` to the server. The client gets an id of the gateway's when the session is saved, and
 * none if the server has no sessions.
 */
export async function beginSession(
  sessions: ClientSessions,
  message: JsonRpcRequest,
  of: Pick<SessionName, "connection" | "principal">,
): Promise<Response> {
  const id = randomToken() + randomToken();
  const names = await namesOf(id, of.connection, of.principal);
  const session = await sessions.begin(names);
  let isBegun = false;
  try {
    const answer = await initialize(session, message);
    const { snapshot } = session.upstream.slot;
    isBegun = answer.ok && snapshot?.kind === "session";
    if (isBegun) answer.headers.set("mcp-session-id", id);
    return answer;
  } catch (error) {
    return refuse(message, error);
  } finally {
    // Without the store the record is left to a sweep.
    if (!isBegun) await session.upstream.end().catch(() => undefined);
    if (!isBegun) await sessions.close(session);
  }
}

async function initialize(
  { upstream: { fetch, url } }: ClientSession,
  message: JsonRpcRequest,
): Promise<Response> {
  const post = (body: object) =>
    fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  const response = await post(message);
  if (response.status === 401) return refuse(message, undefined, 401);
  if (!response.ok) {
    const type = response.headers.get("content-type") ?? "application/json";
    const own = { status: response.status, headers: { "content-type": type } };
    return new Response(await readRefusal(response), own);
  }
  const answer = await readAnswer(response, message.id);
  if (answer === undefined) return refuse(message, undefined);
  if (answer.error) return messageAnswer(answer);
  const acknowledged = await post({ jsonrpc: "2.0", method: "notifications/initialized" });
  await acknowledged.body?.cancel();
  return acknowledged.ok ? messageAnswer(answer) : refuse(message, undefined, acknowledged.status);
}

/** What is wrong with the server is no refusal of the client, which would sign in, or speak another dialect. */
function refuse({ id }: JsonRpcRequest, error: unknown, status?: number): Response {
  const isOtherEra = McpSessionError.isInstance(error) && error.data.reason === "other-era";
  const text = isOtherEra
    ? "This server only speaks revisions without sessions (2026-07-28 and later). Use a client that probes with server/discover."
    : error !== undefined
      ? failureText(error)
      : `The server does not begin a session${status === undefined ? "" : ` (HTTP ${status})`}.`;
  const code = isOtherEra ? -32_022 : -32_603;
  const body = JSON.stringify({ jsonrpc: "2.0", id, error: { code, message: text } });
  const own = { status: isOtherEra ? 400 : 502, headers: { "content-type": "application/json" } };
  return new Response(body, own);
}
