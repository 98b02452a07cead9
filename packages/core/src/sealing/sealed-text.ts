import { CompactEncrypt, compactDecrypt, errors } from "jose";
import type { PurposeKey } from "./sealing-keys.ts";

/** The reason why a sealed text was not opened. */
export type UnreadableReason = "malformed" | "unknown-key" | "tampered";

/**
 * Encrypts and authenticates a text: a compact JWE with a key of our own (`dir`) and AES-256-GCM.
 *
 * @param isCompressed the length then reveals something about the content
 * @see https://www.rfc-editor.org/rfc/rfc7516
 */
export async function sealText(
  text: string,
  { id, secret }: PurposeKey,
  isCompressed = false,
): Promise<string> {
  return await new CompactEncrypt(new TextEncoder().encode(text))
    .setProtectedHeader({
      alg: "dir",
      enc: "A256GCM",
      kid: id,
      ...(isCompressed && { zip: "DEF" as const }),
    })
    .encrypt(secret);
}

/**
 * Opens a text that one of the keys sealed, or returns the reason why it cannot. It never throws.
 *
 * @param maxDecompressedLength in bytes; 0 refuses compressed texts
 */
export async function openText(
  sealed: unknown,
  keys: readonly PurposeKey[],
  maxDecompressedLength: number,
): Promise<{ readonly text: string } | { readonly reason: UnreadableReason }> {
  let isKeyKnown = true;
  try {
    const { plaintext } = await compactDecrypt(
      sealed as string,
      ({ kid }) => {
        const key = keys.find(({ id }) => id === kid);
        isKeyKnown = key !== undefined;
        if (key === undefined) throw new Error("The key is unknown.");
        return key.secret;
      },
      {
        keyManagementAlgorithms: ["dir"],
        contentEncryptionAlgorithms: ["A256GCM"],
        maxDecompressedLength,
      },
    );
    return { text: new TextDecoder("utf-8", { ignoreBOM: true }).decode(plaintext) };
  } catch (error) {
    if (!isKeyKnown) return { reason: "unknown-key" };
    return { reason: error instanceof errors.JWEDecryptionFailed ? "tampered" : "malformed" };
  }
}
