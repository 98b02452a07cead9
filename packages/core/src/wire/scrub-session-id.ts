import { isRecord } from "../base/json-values.ts";

/**
 * Removes a session id from the body of a server's error, because clients put that body into error
 * messages. In JSON it only changes strings. In a JSON-RPC error it only changes the server's texts. So a
 * short id garbles neither numbers nor the protocol.
 */
export function scrubSessionId(body: string, sessionId: string): string {
  try {
    const value: unknown = JSON.parse(body);
    const scrubbed =
      isRecord(value) && isRecord(value["error"])
        ? { ...value, error: scrubError(value["error"], sessionId) }
        : scrubStrings(value, sessionId);
    const text = JSON.stringify(scrubbed);
    return text === JSON.stringify(value) ? body : text;
  } catch {
    // Not JSON, or nested deeper than the stack.
    return scrubText(body, sessionId);
  }
}

/** The same for the `error` of a JSON-RPC message, in any shape. */
export function scrubError<ERROR>(error: ERROR, sessionId: string): ERROR {
  return scrubStrings(error, sessionId, ["code", "message", "data"]) as ERROR;
}

/** The same for the headers of an error. */
export function scrubHeaders(headers: Headers, sessionId: string): Headers {
  const scrubbed = new Headers(headers);
  for (const [name, value] of headers) {
    if (value.includes(sessionId)) scrubbed.set(name, scrubText(value, sessionId));
  }
  return scrubbed;
}

/** The same for every string in a JSON value. */
export function scrubStrings(
  value: unknown,
  sessionId: string,
  /** Names of top-level members that stay unchanged. */
  names: readonly string[] = [],
): unknown {
  if (typeof value === "string") return scrubText(value, sessionId);
  if (Array.isArray(value)) return value.map((item) => scrubStrings(item, sessionId));
  if (!isRecord(value)) return value;
  const entries = Object.entries(value).map(([key, item]) => [
    names.includes(key) ? key : scrubText(key, sessionId),
    scrubStrings(item, sessionId),
  ]);
  return Object.fromEntries(entries);
}

/** A text may have the id itself, or its form inside a JSON string. */
function scrubText(text: string, sessionId: string): string {
  return text
    .replaceAll(JSON.stringify(sessionId).slice(1, -1), "[session id]")
    .replaceAll(sessionId, "[session id]");
}
