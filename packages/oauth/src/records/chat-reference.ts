/** Longer ids of agent sessions have no reference. */
const maxLength = 256;
const ivBytes = 12;

/**
 * A link's reference to the agent session in which it is shown, the same each time. The key is in the principal's own
 * record: nobody else's link is opened with it.
 */
export async function sealChat(sessionId: string, key: string): Promise<string | undefined> {
  if (sessionId.length > maxLength) return undefined;
  const iv = (await digest(JSON.stringify([key, sessionId]))).slice(0, ivBytes);
  const sealed = await crypto.subtle.encrypt(
    { name: "AES-GCM", iv },
    await keyOf(key),
    bytesOf(sessionId),
  );
  const text = btoa(String.fromCharCode(...iv, ...new Uint8Array(sealed)));
  return text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** The agent session of a reference; `undefined` for one that is not of this key. */
export async function openChat(
  reference: string | null,
  key: string | undefined,
): Promise<string | undefined> {
  if (!reference || !key || reference.length > 5 * maxLength) return undefined;
  try {
    const text = atob(reference.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(text, (character) => character.charCodeAt(0));
    const [iv, sealed] = [bytes.slice(0, ivBytes), bytes.slice(ivBytes)];
    const opened = await crypto.subtle.decrypt({ name: "AES-GCM", iv }, await keyOf(key), sealed);
    return new TextDecoder().decode(opened);
  } catch {
    return undefined;
  }
}

const bytesOf = (text: string) => new TextEncoder().encode(text);
const digest = async (text: string) =>
  new Uint8Array(await crypto.subtle.digest("SHA-256", bytesOf(text)));
const keyOf = async (key: string) =>
  await crypto.subtle.importKey("raw", await digest(key), "AES-GCM", false, ["encrypt", "decrypt"]);
