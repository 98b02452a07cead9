import { base64Url, purposeKey, type SealingKey } from "./sealing-keys.ts";

/**
 * Returns a text's fingerprint. It does not reveal the text, and is always the same for one text and key.
 */
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
    return await crypto.subtle.importKey(
      "raw",
      new Uint8Array(secret),
      { name: "HMAC", hash: "SHA-256" },
      false,
      ["sign"],
    );
  };
  return async (text) => {
    hmac ??= await load();
    if (isFingerprint(text)) return text;
    const mark = await crypto.subtle.sign("HMAC", hmac, new TextEncoder().encode(text));
    return `#${base64Url(new Uint8Array(mark))}`;
  };
}

export function isFingerprint(text: unknown): boolean {
  return typeof text === "string" && pattern.test(text);
}
