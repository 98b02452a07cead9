import { isRecord } from "./json-rpc.ts";

/**
 * Takes a session id out of the body of a server's error, which clients put into error messages.
 * In JSON only strings are touched, and of a JSON-RPC error only what the server says, so that a
 * short id garbles neither numbers nor the protocol.
 */
export function scrubSessionId(body: string, sessionId: string): string {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return scrubText(body, sessionId);
  }
  const scrubbed =
    isRecord(value) && isRecord(value["error"])
      ? { ...value, error: scrubError(value["error"], sessionId) }
      : scrubStrings(value, sessionId);
  const text = JSON.stringify(scrubbed);
  return text === JSON.stringify(value) ? body : text;
}

/** The same for the `error` of a JSON-RPC message. */
export function scrubError<ERROR extends object>(error: ERROR, sessionId: string): ERROR {
  const { message, data } = error as { message?: unknown; data?: unknown };
  return {
    ...error,
    ...(message !== undefined && { message: scrubStrings(message, sessionId) }),
    ...(data !== undefined && { data: scrubStrings(data, sessionId) }),
  };
}

/** The same for every string in a JSON value. */
export function scrubStrings(value: unknown, sessionId: string): unknown {
  if (typeof value === "string") return scrubText(value, sessionId);
  if (Array.isArray(value)) return value.map((item) => scrubStrings(item, sessionId));
  if (!isRecord(value)) return value;
  const entries = Object.entries(value).map(([key, item]) => [
    scrubText(key, sessionId),
    scrubStrings(item, sessionId),
  ]);
  return Object.fromEntries(entries);
}

/** The id may stand in a text as it is, or as it looks inside a JSON string. */
function scrubText(text: string, sessionId: string): string {
  return text
    .replaceAll(JSON.stringify(sessionId).slice(1, -1), "[session id]")
    .replaceAll(sessionId, "[session id]");
}
