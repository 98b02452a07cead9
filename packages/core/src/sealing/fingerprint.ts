import { base64Url, purposeKey, type SealingKey } from "./sealing-keys.ts";

/** Stands for a text without saying it: always the same for one text and one key. */
export type Fingerprint = (text: string) => Promise<string>;

/** What a fingerprint looks like, so that one is not taken for what it stands for. */
const pattern = /^#[\w-]{43}$/;

/**
 * Fingerprints with a secret (HMAC with SHA-256), so that nobody without it can try names. What is
 * a fingerprint already stays as it is.
 */
export function createFingerprint(key: SealingKey): Fingerprint {
  // The key and not its promise: some runtimes forbid to wait for what another request began.
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
