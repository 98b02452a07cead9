import type { JsonRpcId } from "./json-rpc.ts";
import { McpSessionError } from "../base/mcp-session-error.ts";

// Answers of the session fetch in the server's place.

export function resultAnswer(id: JsonRpcId, result: object): Response {
  return Response.json({ jsonrpc: "2.0", id, result });
}

/** The answer of a server without `server/discover`. Clients then go on with `initialize`. */
export function methodNotFoundAnswer(id: JsonRpcId): Response {
  const error = { code: -32601, message: "Method not found" };
  return Response.json({ jsonrpc: "2.0", id, error });
}

export function emptyAnswer(status: 202 | 204 | 405): Response {
  return new Response(null, { status });
}

/** Connection closed: an implementation-defined JSON-RPC code of the official SDKs. */
const connectionClosed = -32000;

/** An error in the form of an answer to the client's request. */
export function errorMessageText(id: JsonRpcId, error: McpSessionError, receipt: string): string {
  const { code, message, data } = error;
  return JSON.stringify({
    jsonrpc: "2.0",
    id,
    error: { code: connectionClosed, message, data: { ...data, code, receipt } },
  });
}
