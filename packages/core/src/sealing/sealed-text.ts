import { checkOptions, invalid } from "../base/check-option.ts";

/** A secret of 32 random bytes, as bytes or as base64 text (`openssl rand -base64 32`). */
export type SealingKey = Uint8Array | string;

/** The keys that seal and open. */
export interface SealingKeys {
  /** Seals, and opens its own seals. */
  readonly current: SealingKey;
  /** The former current key; it only opens. @default none */
  readonly previous?: SealingKey | undefined;
}

/** A key for one purpose. Sealed texts carry its `id`. */
export interface PurposeKey {
  readonly id: string;
  readonly secret: Uint8Array;
}

/** The purpose of a key. One secret may serve all purposes, because each derives its own key. */
export type SealingPurpose = "state" | "store value" | "store fingerprint";

const keyLength = 32;
const idLength = 6;

/**
 * Derives the keys of a purpose, the current one first.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the field
 */
export async function purposeKeys(
  keys: SealingKeys,
  purpose: SealingPurpose,
): Promise<readonly [PurposeKey, ...PurposeKey[]]> {
  checkKeys(keys);
  const { current, previous } = keys;
  const first = await purposeKey(current, purpose, "keys.current");
  if (previous === undefined) return [first];
  return [first, await purposeKey(previous, purpose, "keys.previous")];
}

/** @throws {McpSessionError} `CONNECTION_INVALID`, naming the field */
export function checkKeys(keys: SealingKeys): void {
  checkOptions(keys, { current: keyBytes, previous: keyBytes }, "keys");
  keyBytes(keys.current, "keys.current");
}

/**
 * Derives the key of a purpose from a secret (HKDF with SHA-256), and an id that reveals nothing about
 * the key.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the field
 */
export async function purposeKey(
  key: SealingKey | undefined,
  purpose: SealingPurpose,
  field: string,
): Promise<PurposeKey> {
  const { subtle } = crypto;
  const secret = await subtle.importKey("raw", keyBytes(key, field), "HKDF", false, ["deriveBits"]);
  const info = new TextEncoder().encode(`durable-mcp ${purpose}`);
  const hkdf = { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(), info };
  const bits = (keyLength + idLength) * 8;
  const derived = new Uint8Array(await subtle.deriveBits(hkdf, secret, bits));
  return { secret: derived.subarray(0, keyLength), id: base64Url(derived.subarray(keyLength)) };
}

/** Bytes as text for URLs, cookies and keys, without padding. */
export function base64Url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
}

export function keyBytes(key: unknown, field: string): Uint8Array<ArrayBuffer> {
  // A copy, because the bytes may be a view of shared memory, and WebCrypto refuses that.
  if (key instanceof Uint8Array && key.length === keyLength) return new Uint8Array(key);
  if (typeof key === "string" && /^[\w+/-]{43}=?$/.test(key)) {
    const text = atob(key.replaceAll("-", "+").replaceAll("_", "/"));
    return Uint8Array.from(text, (character) => character.charCodeAt(0));
  }
  throw invalid(
    field,
    `${field} must be ${keyLength} bytes, as a Uint8Array or as base64 text. \`openssl rand -base64 ${keyLength}\` makes one.`,
  );
}

/** The reason why a sealed text was not opened. */
export type UnreadableReason = "malformed" | "unknown-key" | "tampered";

/** It has 46 modules, and a step that finds nothing sealed needs none of them. */
const loadJose = () => import("jose");

/**
 * Encrypts and authenticates a text: a compact JWE with a key of our own (`dir`) and AES-256-GCM. The
 * length of a compressed text reveals something about the content.
 * @see https://www.rfc-editor.org/rfc/rfc7516
 */
export async function sealText(
  text: string,
  { id, secret }: PurposeKey,
  isCompressed = false,
): Promise<string> {
  const { CompactEncrypt } = await loadJose();
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
 * Opens a text that one of the keys sealed, or returns the reason why it cannot. It never throws. A
 * `maxDecompressedLength` of 0 bytes refuses compressed texts.
 */
export async function openText(
  sealed: unknown,
  keys: readonly PurposeKey[],
  maxDecompressedLength: number,
): Promise<{ readonly text: string } | { readonly reason: UnreadableReason }> {
  const { compactDecrypt, errors } = await loadJose();
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
