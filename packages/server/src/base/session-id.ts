/** Ids of at most this many characters are looked up; any other text is an unknown id. */
const idPattern = /^[\x21-\x7E]{1,1024}$/;

/**
 * A new session id: 256 bits from the platform's CSPRNG, in visible ASCII.
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management
 */
export function createSessionId(): string {
  return base64url(crypto.getRandomValues(new Uint8Array(32)));
}

/** A random text that is no credential but must be unique: 96 bits. */
export function randomName(): string {
  return base64url(crypto.getRandomValues(new Uint8Array(12)));
}

/**
 * The name of a session in the store. The id cannot be computed from it; `undefined` for a text that
 * no server would hand out as an id.
 */
export async function hashSessionId(sessionId: string): Promise<string | undefined> {
  if (!idPattern.test(sessionId)) return undefined;
  const bytes = new TextEncoder().encode(`durable-mcp session\n${sessionId}`);
  return base64url(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
}

/** `hashSessionId` with a memory of its last results. */
export function createHashSessionId(remembered: number): typeof hashSessionId {
  const hashes = new Map<string, Promise<string | undefined>>();
  return async (sessionId) => {
    // A text that is no id takes no room, however long it is.
    if (!idPattern.test(sessionId)) return undefined;
    const known = hashes.get(sessionId);
    if (known) return await known;
    const hash = hashSessionId(sessionId);
    hashes.set(sessionId, hash);
    if (hashes.size > remembered) hashes.delete(hashes.keys().next().value!);
    return await hash;
  };
}

/**
 * A text that only those who have the session's id can make, and from which the id cannot be computed.
 *
 * @param bytes how many of the 32 it has
 */
export async function macOfSession(
  sessionId: string,
  purpose: string,
  bytes = 32,
): Promise<string> {
  const encoder = new TextEncoder();
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const id = encoder.encode(sessionId);
  const key = await crypto.subtle.importKey("raw", id, algorithm, false, ["sign"]);
  const mac = await crypto.subtle.sign("HMAC", key, encoder.encode(purpose));
  return base64url(new Uint8Array(mac, 0, bytes));
}

/** Names a session or an unknown id in events: the first 48 bits of its hash. */
export function fingerprint(sessionHash: string | undefined): string {
  return (sessionHash ?? "").slice(0, 8);
}

export function base64url(bytes: Uint8Array): string {
  const text = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  return text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
