import { base64url, textFromBase64url } from "../base/session-id.ts";

/** The name of the listening stream, for messages that belong to no request. */
export const standalone = "standalone";

/** A place in one stream of a session. */
export interface EventPosition {
  /** The JSON of the id of the stream's first request, or `standalone`. */
  readonly stream: string;
  /** Tells two requests of one session apart that had the same id, one after the other. */
  readonly nonce: string;
  /** From 0, which is before the first message. */
  readonly place: number;
}

/** The place after the last message: a client there has nothing to come back for. */
export const lastPlace = 36 ** 8 - 1;

export type MakeEventId = (place: number) => string;

/** Makes and reads the event ids of one session. */
export interface SessionEventIds {
  of(stream: Pick<EventPosition, "stream" | "nonce">): MakeEventId;
  /** `undefined` unless `eventId` was given out for this session. */
  parse(eventId: string): EventPosition | undefined;
}

/**
 * Event ids carry a seal that only the session's id can make, and the store does not have that id.
 * So an event id proves that it was given out for this session, even when its message is no longer
 * stored. Within a session there is nothing to forge: its client may read all of its streams.
 */
export async function sessionEventIds(sessionId: string): Promise<SessionEventIds> {
  const seal = await sealOf(sessionId);
  return {
    of: ({ stream, nonce }) => {
      const name = base64url(new TextEncoder().encode(stream));
      return (place) => [name, nonce, seal, place.toString(36)].join(".");
    },
    parse: (eventId) => {
      const [name = "", nonce = "", given = "", place = "", ...rest] = eventId.split(".");
      const stream = textFromBase64url(name);
      if (stream === undefined || rest.length > 0 || !/^[0-9a-z]{1,8}$/.test(place)) {
        return undefined;
      }
      // The caller has the session's id, from which the seal is made: no timing to hide.
      if (given !== seal) return undefined;
      return { stream, nonce, place: Number.parseInt(place, 36) };
    },
  };
}

async function sealOf(sessionId: string): Promise<string> {
  const encoder = new TextEncoder();
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", encoder.encode(sessionId), algorithm, false, [
    "sign",
  ]);
  const mac = new Uint8Array(
    await crypto.subtle.sign("HMAC", key, encoder.encode("durable-mcp event")),
  );
  return base64url(mac.subarray(0, 16));
}
