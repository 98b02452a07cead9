import { base64Url, purposeKey, type SealingKey } from "./sealed-text.ts";

/** A fingerprint does not reveal its text, and is always the same for one text and key. */
export type Fingerprint = (text: string) => Promise<string>;

/** The form of a fingerprint, which tells it from other texts. */
const pattern = /^#[\w-]{43}$/;

/**
 * Fingerprints need a secret (HMAC with SHA-256), so nobody without it can try names. A text that is a
 * fingerprint already stays unchanged.
 */
export function createFingerprint(key: SealingKey): Fingerprint {
  // The key and not its promise, because some runtimes forbid to await another request's I/O.
  let hmac: CryptoKey | undefined;
  const load = async () => {
    const { secret } = await purposeKey(key, "store fingerprint", "fingerprintKey");
    const algorithm = { name: "HMAC", hash: "SHA-256" };
    return await crypto.subtle.importKey("raw", new Uint8Array(secret), algorithm, false, ["sign"]);
  };
  return async (text) => {
    hmac ??= await load();
    if (pattern.test(text)) return text;
    const mark = await crypto.subtle.sign("HMAC", hmac, new TextEncoder().encode(text));
    return `#${base64Url(new Uint8Array(mark))}`;
  };
}

/** The agent (`null` if shared), the agent session and the connection stay readable in a key. */
const readableParts = 3;

/** The readable parts of a key and the comma after them. */
const readableStart = /^\[(?:null,|"(?:[^"\\]|\\.)*",)(?:"(?:[^"\\]|\\.)*",){2}/;

/**
 * The key in a store of fingerprints. For `[agent, session, connection, ...principal]` as JSON, it has the
 * first three parts and a fingerprint of the others. Any other key stays unchanged.
 */
export async function fingerprintKey(key: string, fingerprint: Fingerprint): Promise<string> {
  const parts = parseKey(key);
  if (parts === undefined) return key;
  const principal = parts.slice(readableParts);
  if (principal.length === 1 && pattern.test(String(principal[0]))) return key;
  const mark = await fingerprint(JSON.stringify(principal));
  return JSON.stringify([...parts.slice(0, readableParts), mark]);
}

/** The longest common prefix of the fingerprinted keys of all keys that start with `prefix`. */
export function fingerprintedPrefix(prefix: string): string {
  return readableStart.exec(prefix)?.[0] ?? prefix;
}

/** The parts of a key with a principal: a JSON array of texts, printed by `JSON.stringify`. */
function parseKey(key: string): readonly unknown[] | undefined {
  if (!readableStart.test(key)) return undefined;
  try {
    const parts = JSON.parse(key) as readonly unknown[];
    const areTexts = parts.slice(1).every((part) => typeof part === "string");
    const isOurs = parts.length > readableParts && areTexts && JSON.stringify(parts) === key;
    return isOurs ? parts : undefined;
  } catch {
    return undefined;
  }
}
