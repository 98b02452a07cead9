import { classifyLoss, type SessionLoss } from "../../../core/src/session/lost-session.ts";

/** What a server says to a request with an id that it does not take, and what core makes of it. */
export interface Refusal {
  status: number;
  contentType: string;
  /** The message of a JSON-RPC error, or the body; the id left out. */
  text: string;
  loss: SessionLoss;
}

const timeoutMs = 5_000;
const protocolVersion = "2025-06-18";

/** Initializes with plain requests, as a client of its own; `undefined` when no session is named. */
export async function openRawSession(url: string): Promise<string | undefined> {
  const clientInfo = { name: "compatibility", version: "1.0.0" };
  const params = { protocolVersion, capabilities: {}, clientInfo };
  const answer = await post(url, { id: 1, method: "initialize", params });
  const id = answer.headers.get("mcp-session-id") ?? undefined;
  await answer.body?.cancel();
  if (!answer.ok || id === undefined) return undefined;
  const noted = await post(url, { method: "notifications/initialized" }, id);
  await noted.body?.cancel();
  return id;
}

/** Lists the tools with this id. */
export async function listWith(url: string, id: string): Promise<Refusal> {
  const answer = await post(url, { id: 2, method: "tools/list", params: {} }, id);
  const body = answer.status < 400 ? "" : await answer.text();
  await answer.body?.cancel().catch(() => undefined);
  return {
    status: answer.status,
    contentType: answer.headers.get("content-type")?.split(";")[0] ?? "none",
    text: messageIn(body).replaceAll(id, "<id>").trim().slice(0, 160),
    loss: classifyLoss({ status: answer.status, body }),
  };
}

/** Ends a session as anybody can who has the id. Resolves with the status of the answer. */
export async function endSession(url: string, id: string): Promise<number> {
  const headers = { "mcp-session-id": id, "mcp-protocol-version": protocolVersion };
  const signal = AbortSignal.timeout(timeoutMs);
  const answer = await fetch(url, { method: "DELETE", headers, signal });
  await answer.body?.cancel();
  return answer.status;
}

/** One line, to compare and to print. */
export function describeRefusal({ status, contentType, text }: Refusal): string {
  if (status < 400) return `${status}: accepted`;
  return `${status}, ${contentType}: ${JSON.stringify(text)}`;
}

/** An id in the shape of this one, which the server never gave. */
export function neverGiven(id: string): string {
  const tail = id
    .slice(-8)
    .replaceAll(/[0-9]/g, next("0123456789"))
    .replaceAll(/[a-f]/g, next("abcdef"))
    .replaceAll(/[A-Z]/g, next("ABCDEFGHIJKLMNOPQRSTUVWXYZ"));
  return id.slice(0, -8) + tail;
}

const next = (characters: string) => (found: string) =>
  characters[(characters.indexOf(found) + 1) % characters.length] ?? found;

function post(url: string, message: object, id?: string): Promise<Response> {
  return fetch(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...(id !== undefined && {
        "mcp-session-id": id,
        "mcp-protocol-version": protocolVersion,
      }),
    },
    body: JSON.stringify({ jsonrpc: "2.0", ...message }),
    signal: AbortSignal.timeout(timeoutMs),
  });
}

function messageIn(body: string): string {
  try {
    const { error } = JSON.parse(body) as { error?: { message?: string } | string };
    return (typeof error === "string" ? error : error?.message) ?? body;
  } catch {
    return body;
  }
}
