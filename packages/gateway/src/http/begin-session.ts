import { McpSessionError, type JsonRpcRequest } from "@durable-mcp/core";
import { letGo, randomToken, readAnswer, readRefusal } from "@durable-mcp/core/internal";
import { aboutRequest, failureText, messageAnswer, refusal } from "../base/answers.ts";
import { namesOf, type SessionAddress } from "../session/session-names.ts";
import type { ClientSessions } from "../session/client-sessions.ts";
import type { Upstream } from "../session/upstreams.ts";

/**
 * Sends a client's `initialize` to the server. The client gets an id of the gateway's when the session is saved, and
 * none if the server has no sessions.
 */
export async function beginSession(
  sessions: ClientSessions,
  message: JsonRpcRequest,
  address: SessionAddress,
): Promise<Response> {
  const id = randomToken() + randomToken();
  const session = await sessions.begin(await namesOf(id, address));
  const { upstream } = session;
  let isBegun = false;
  try {
    const answer = await session.use(() => initialize(upstream, message));
    isBegun = answer.ok && upstream.slot.snapshot?.kind === "session";
    if (isBegun) answer.headers.set("mcp-session-id", id);
    return answer;
  } catch (error) {
    return notBegun(message, error);
  } finally {
    // Without the store the record is left to a sweep.
    if (!isBegun) await upstream.end().catch(() => undefined);
    if (!isBegun) await sessions.close(session);
  }
}

/** Why no session has begun. */
export function notBegun(message: JsonRpcRequest, error: unknown): Response {
  if (McpSessionError.isInstance(error) && error.code === "STORE_FAILED") throw error;
  const isOtherEra = McpSessionError.isInstance(error) && error.data.reason === "other-era";
  if (!isOtherEra) return unavailable(message, aboutRequest(failureText(error)));
  const text =
    "This server only speaks revisions without sessions (2026-07-28 and later). Use a client that probes with server/discover.";
  return refusal(400, text, { code: -32_022, id: message.id });
}

export async function initialize(upstream: Upstream, message: JsonRpcRequest): Promise<Response> {
  const response = await upstream.post(JSON.stringify(message));
  const { ok, status, headers } = response;
  const without = (why = "") => unavailable(message, `The server does not begin a session${why}.`);
  if (status === 401) return without(" (HTTP 401)");
  if (!ok) {
    const type = headers.get("content-type") ?? "application/json";
    return new Response(await readRefusal(response), { status, headers: { "content-type": type } });
  }
  const answer = await readAnswer(response, message.id);
  if (answer?.error) return messageAnswer(answer);
  if (answer === undefined) return without();
  const acknowledgement = { jsonrpc: "2.0", method: "notifications/initialized" };
  const acknowledged = await upstream.post(JSON.stringify(acknowledgement));
  letGo(acknowledged);
  return acknowledged.ok ? messageAnswer(answer) : without(` (HTTP ${acknowledged.status})`);
}

/** What is wrong with the server is no refusal of the client, which would sign in, or speak another dialect. */
const unavailable = ({ id }: JsonRpcRequest, text: string) =>
  refusal(502, text, { code: -32_603, id });
