import { requestUrl } from "../../src/wire/server-endpoint.ts";
import type { WireRequest } from "./invariant-model.ts";

/** The request that a process sends. */
export function readRequest(
  slot: string,
  input: RequestInfo | URL,
  init: RequestInit = {},
): WireRequest {
  const headers = init.headers instanceof Headers ? init.headers : new Headers(init.headers);
  const body = typeof init.body === "string" ? init.body : "";
  const header = (name: string) => headers.get(name) ?? undefined;
  return {
    slot,
    url: requestUrl(input).href,
    method: init.method ?? "GET",
    owner: header("authorization"),
    sessionId: header("mcp-session-id"),
    version: header("mcp-protocol-version"),
    lastEventId: header("last-event-id"),
    body,
    message: body.startsWith("{") ? JSON.parse(body) : undefined,
    signal: init.signal ?? undefined,
  };
}

/** A line for the trace: who, what and, for a call, which. */
export function describe({ slot, method, message, sessionId }: WireRequest): string {
  const nonce = message?.params?.arguments?.nonce ?? message?.params?.["_meta"]?.nonce ?? "";
  const what = message === undefined ? method : (message.method ?? "answer to a question");
  return [slot, what, nonce, sessionId && `on ${sessionId}`].filter(Boolean).join(" ");
}

export const jsonType = { "content-type": "application/json" };

export function json(message: object, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(message), { headers: { ...jsonType, ...headers } });
}

export function events(message: object, headers: Record<string, string>): Response {
  const body = `event: message\ndata: ${JSON.stringify(message)}\n\n`;
  return new Response(body, { headers: { "content-type": "text/event-stream", ...headers } });
}

export function text(status: number, body: string): Response {
  const type = body.startsWith("{") ? jsonType : { "content-type": "text/plain" };
  return new Response(body, { status, headers: type });
}
