import { isRecord, parseMessage } from "./json-rpc.ts";

/**
 * JSON-RPC codes that give a 404 another meaning: unknown method, invalid params, and the
 * 2026-07-28 revision's refusals of a header, a missing capability and a version.
 */
const otherMeanings = new Set([-32601, -32602, -32020, -32021, -32022]);

/**
 * Whether an answer to a request that carried a session id says that the server does not know
 * the session: a 404 without any sign of another meaning. The request was not processed.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management
 */
export function isSessionLost({ status, body }: { status: number; body: string }): boolean {
  if (status !== 404) return false;
  if (/protocol[ -]?version/i.test(body)) return false;
  const message = parseMessage(body);
  const error = message !== undefined && "error" in message ? message.error : undefined;
  return !(isRecord(error) && otherMeanings.has(error["code"]));
}
