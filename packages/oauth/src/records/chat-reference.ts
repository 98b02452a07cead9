/** Longer ids of agent sessions, in bytes, have no reference. */
const maxBytes = 512;
const ivBytes = 12;

/**
 * A link's reference to the agent session in which it is shown, the same each time. The key is in the principal's own
 * record: nobody else's link is opened with it.
 */
export async function sealChat(sessionId: string, key: string): Promise<string | undefined> {
  const plain = new TextEncoder().encode(sessionId);
  if (plain.length > maxBytes) return undefined;
  const named = new TextEncoder().encode(JSON.stringify([key, sessionId]));
  const iv = new Uint8Array(await crypto.subtle.digest("SHA-256", named)).subarray(0, ivBytes);
  const sealed = await crypto.subtle.encrypt({ name: "AES-GCM", iv }, await keyOf(key), plain);
  const text = btoa(String.fromCharCode(...iv, ...new Uint8Array(sealed)));
  return text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** The agent session of a reference; `undefined` for one that is not of this key. */
export async function openChat(
  reference: string | null,
  key: string | undefined,
): Promise<string | undefined> {
  if (reference === null || key === undefined || reference.length > 2 * maxBytes) return undefined;
  try {
    const text = atob(reference.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(text, (character) => character.charCodeAt(0));
    const [iv, sealed] = [bytes.subarray(0, ivBytes), bytes.subarray(ivBytes)];
    const opened = await crypto.subtle.decrypt({ name: "AES-GCM", iv }, await keyOf(key), sealed);
    return new TextDecoder().decode(opened);
  } catch {
    return undefined;
  }
}

async function keyOf(key: string): Promise<CryptoKey> {
  const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(key));
  return await crypto.subtle.importKey("raw", bytes, "AES-GCM", false, ["encrypt", "decrypt"]);
}
