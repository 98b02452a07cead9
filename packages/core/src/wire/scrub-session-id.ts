import { isRecord, sameJson } from "../base/json-values.ts";
import { createScrubber, scrubJson } from "../base/scrub-text.ts";

const scrubber = (sessionId: string) => createScrubber([sessionId], "[session id]");

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
    // Not JSON, or too deep to be printed.
    return scrubber(sessionId)(body);
  }
}

/** The same for the `error` of a JSON-RPC message, in any shape. */
export function scrubError<ERROR>(error: ERROR, sessionId: string): ERROR {
  return scrubJson(error, scrubber(sessionId), ["code", "message", "data"]) as ERROR;
}

/** The same for a result that says that its tool failed. Others are the server's own words. */
export function scrubFailure<RESULT extends object>(result: RESULT, sessionId: string): RESULT {
  // A shorter id is a coincidence.
  if (!("isError" in result) || result.isError !== true || sessionId.length < 4) return result;
  const scrubbed = scrubJson(result, scrubber(sessionId), Object.keys(result));
  return sameJson(result, scrubbed) ? result : (scrubbed as RESULT);
}

/** The same for the headers of an error. */
export function scrubHeaders(headers: Headers, sessionId: string): Headers {
  const scrubbed = new Headers(headers);
  const scrub = scrubber(sessionId);
  for (const [name, value] of headers) {
    const text = scrub(value);
    if (text !== value) scrubbed.set(name, text);
  }
  return scrubbed;
}

/** The same for every string in a JSON value. */
export function scrubStrings(value: unknown, sessionId: string): unknown {
  return scrubJson(value, scrubber(sessionId));
}
