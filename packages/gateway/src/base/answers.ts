import { McpSessionError } from "@durable-mcp/core";
import { type JsonRpcId, type JsonRpcResponse, mayHaveRun } from "@durable-mcp/core/internal";

const json = { "content-type": "application/json" };

/** A refusal of the gateway itself. @param headers beside the content type */
export function refusal(
  status: number,
  message: string,
  code = -32_600,
  headers: Record<string, string> = {},
): Response {
  const body = JSON.stringify({ jsonrpc: "2.0", id: null, error: { code, message } });
  return new Response(body, { status, headers: { ...json, ...headers } });
}

/** Clients then begin a new session. */
export function sessionNotFound(): Response {
  return refusal(404, "Session not found. Begin a new one with initialize.", -32_001);
}

export function messageAnswer(message: JsonRpcResponse): Response {
  return new Response(JSON.stringify(message), { headers: json });
}

/** The text of a result that says why there is no other. */
export function errorResult(id: JsonRpcId, text: string): JsonRpcResponse {
  return { jsonrpc: "2.0", id, result: { isError: true, content: [{ type: "text", text }] } };
}

const unknownOutcome =
  "No answer came, and whether the call was carried out is unknown. Check what it has done before you make it again.";

const notDone: Readonly<Record<string, string>> = {
  SESSION_LOST:
    "The server has forgotten what it kept for this session, and the call was not carried out. Set up again what you need, then make the call again.",
  AUTHORIZATION_REQUIRED:
    "Somebody has to sign in at this server first. The call was not carried out.",
};

/**
 * Why a call has no answer, for a client that nobody can change. Some clients end a session at the words of a broken
 * connection, so there are none.
 */
export function failureText(error: unknown): string {
  const code = McpSessionError.isInstance(error) ? error.code : "OUTCOME_UNKNOWN";
  if (code === "OUTCOME_UNKNOWN") return unknownOutcome;
  return notDone[code] ?? "The server cannot be used now, and the call was not carried out.";
}

/** The same for a refusal of the server, or of what stands before it. */
export function refusedText({ status, headers }: Response): string {
  if (status === 401 || status === 403)
    return `The server does not let the gateway in (HTTP ${status}). The call was not carried out.`;
  const isForLater = status === 429 || (status === 503 && !mayHaveRun(status, headers));
  const fate = isForLater
    ? "The call was not carried out; try again later."
    : "Whether the call was carried out is unknown; check before you make it again.";
  return `The server, or what stands before it, refused the call (HTTP ${status}). ${fate}`;
}

/** What a request other than a call gets. */
function failureAnswer(id: JsonRpcId, text: string): JsonRpcResponse {
  return { jsonrpc: "2.0", id, error: { code: -32_603, message: text } };
}

/** The answer to a request of this kind that has none of the server's. */
export function noAnswer(id: JsonRpcId, isCall: boolean, text: string): JsonRpcResponse {
  return isCall ? errorResult(id, text) : failureAnswer(id, text.replaceAll("call", "request"));
}

/** Whether a lost answer is told in a result. A task's is the server's to tell. */
export function isPlainCall(message: {
  readonly method: string;
  readonly params?: Record<string, unknown>;
}): boolean {
  return message.method === "tools/call" && message.params?.["task"] === undefined;
}
