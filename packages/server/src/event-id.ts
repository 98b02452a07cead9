import { base64url, textFromBase64url } from "./session-id.ts";

/** The stream that listens for messages that belong to no request. */
export const standalone = "standalone";

/** Where an event stands: in which stream of the session, and at which place. */
export interface EventPosition {
  /** The JSON of the id of the stream's first request, or `standalone`. */
  readonly stream: string;
  /** Tells two requests of one session apart that had the same id, one after the other. */
  readonly nonce: string;
  /** From 0, which is before the first message. */
  readonly place: number;
}

export type MakeEventId = (place: number) => string;

/**
 * The ids of one stream's events. They are sealed with the session's id, which the store does not
 * have: an event id proves that the server gave it out for this session, also when what it names is
 * stored no longer.
 */
export async function eventIdsOf(
  sessionId: string,
  { stream, nonce }: Omit<EventPosition, "place">,
): Promise<MakeEventId> {
  const name = base64url(new TextEncoder().encode(stream));
  const mac = await seal(sessionId, stream, nonce);
  return (place) => [name, nonce, mac, place.toString(36)].join(".");
}

/** What `eventId` names; `undefined` unless it was given out for this session. */
export async function parseEventId(
  sessionId: string,
  eventId: string,
): Promise<EventPosition | undefined> {
  const [name = "", nonce = "", mac = "", place = "", ...rest] = eventId.split(".");
  const stream = textFromBase64url(name);
  if (stream === undefined || rest.length > 0 || !/^[0-9a-z]{1,8}$/.test(place)) return undefined;
  // Comparing two MACs under one key in time that depends on them tells nothing about a third.
  if (mac !== (await seal(sessionId, stream, nonce))) return undefined;
  return { stream, nonce, place: Number.parseInt(place, 36) };
}

async function seal(sessionId: string, stream: string, nonce: string): Promise<string> {
  const encode = (text: string) => new TextEncoder().encode(text);
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", encode(sessionId), algorithm, false, ["sign"]);
  const text = JSON.stringify(["durable-mcp event", stream, nonce]);
  const mac = new Uint8Array(await crypto.subtle.sign("HMAC", key, encode(text)));
  return base64url(mac.subarray(0, 16));
}
