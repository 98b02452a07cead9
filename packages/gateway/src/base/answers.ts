import { type JsonRpcRequest, McpSessionError } from "@durable-mcp/core";
import {
  connectionFailure,
  type JsonRpcId,
  type JsonRpcMessage,
  type JsonRpcResponse,
  mayHaveRun,
} from "@durable-mcp/core/internal";

interface RefusalOptions {
  readonly code?: number;
  /** Of the request. */
  readonly id?: JsonRpcId | null;
  readonly headers?: Record<string, string>;
}

/** A refusal of the gateway itself. */
export function refusal(
  status: number,
  message: string,
  { code = -32_600, id = null, headers = {} }: RefusalOptions = {},
): Response {
  return Response.json({ jsonrpc: "2.0", id, error: { code, message } }, { status, headers });
}

/** Clients then begin a new session. */
export const sessionNotFound = () =>
  refusal(404, "Session not found. Begin a new one with initialize.", { code: -32_001 });

export const messageAnswer = (message: JsonRpcResponse) => Response.json(message);

/** The text of a result that says why there is no other. */
export function errorResult(id: JsonRpcId, text: string): JsonRpcResponse {
  return { jsonrpc: "2.0", id, result: { isError: true, content: [{ type: "text", text }] } };
}

const unknownOutcome =
  "No answer came, and whether the call was carried out is unknown. Check what it has done before you make it again.";

const notDone: Readonly<Record<string, string>> = {
  STORE_FAILED: "The gateway cannot use its store now, and the call was not carried out.",
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
  const ofProgram = [error, (error as Error | undefined)?.cause].find(isOfProgram);
  if (ofProgram?.code === "OUTCOME_UNKNOWN") return ofProgram.message;
  if (ofProgram) return `The call was not carried out. ${ofProgram.message}`;
  const isUnsent = connectionFailure(error)?.sent === "never";
  const fate = isUnsent ? "CONNECTION_UNAVAILABLE" : "OUTCOME_UNKNOWN";
  const code = McpSessionError.isInstance(error) ? error.code : fate;
  if (code === "OUTCOME_UNKNOWN") return unknownOutcome;
  return notDone[code] ?? "The server cannot be used now, and the call was not carried out.";
}

/** Whether a program has not started, or has ended in a call: its message has the last output. */
const isOfProgram = (error: unknown): error is McpSessionError =>
  McpSessionError.isInstance(error) && error.data.origin?.startsWith("stdio:") === true;

/** The words about a call for another request. The output of a program follows in lines of its own. */
export const aboutRequest = (text: string) =>
  text.replace(/^.*/, (words) => words.replaceAll("call", "request"));

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

/** The answer to a request of this kind that has none of the server's. */
export function noAnswer(id: JsonRpcId, isCall: boolean, text: string): JsonRpcResponse {
  if (isCall) return errorResult(id, text);
  return {
    jsonrpc: "2.0",
    id,
    error: { code: -32_603, message: aboutRequest(text) },
  };
}

export function isRequest(message: JsonRpcMessage): message is JsonRpcRequest {
  return "method" in message && "id" in message && ["string", "number"].includes(typeof message.id);
}

/** Whether a lost answer is told in a result. A task's is the server's to tell. */
export const isPlainCall = ({ method, params }: Omit<JsonRpcRequest, "id">) =>
  method === "tools/call" && params?.["task"] === undefined;

/** The answer to a question that nobody gets. */
export function declined({ id, method }: JsonRpcRequest): JsonRpcResponse {
  const message = "Nobody can be asked: no client listens alone.";
  if (method === "elicitation/create") return { jsonrpc: "2.0", id, result: { action: "decline" } };
  if (method === "ping") return { jsonrpc: "2.0", id, result: {} };
  return { jsonrpc: "2.0", id, error: { code: -32_601, message } };
}
