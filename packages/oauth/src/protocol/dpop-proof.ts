import { exportJWK, generateKeyPair, importJWK, type JWK, SignJWT } from "jose";

const algorithm = "ES256";

/** Whether a server takes the proofs that are made here, as far as its metadata says. */
export function takesProofs(server: {
  readonly dpop_signing_alg_values_supported?: readonly string[] | undefined;
}): boolean {
  return server.dpop_signing_alg_values_supported?.includes(algorithm) === true;
}

/** A new key for tokens, private, as a JWK. */
export async function createKey(): Promise<JWK> {
  const { privateKey } = await generateKeyPair(algorithm, { extractable: true });
  return await exportJWK(privateKey);
}

interface ProofOptions {
  readonly method: string;
  readonly url: string;
  /** The access token that goes with it, if one does. */
  readonly token?: string | undefined;
  readonly nonce?: string | undefined;
}

/**
 * A proof that whoever sends one request has the key.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9449#section-4.2
 */
export async function createProof(
  key: JWK,
  { method, url, token, nonce }: ProofOptions,
): Promise<string> {
  const { kty, crv, x, y } = key as Record<string, string>;
  const { origin, pathname } = new URL(url);
  const claims = {
    ...{ htm: method.toUpperCase(), htu: origin + pathname, jti: crypto.randomUUID() },
    ...(token !== undefined && { ath: await hashOf(token) }),
    ...(nonce !== undefined && { nonce }),
  };
  return await new SignJWT(claims)
    .setProtectedHeader({ alg: algorithm, typ: "dpop+jwt", jwk: { kty, crv, x, y } as JWK })
    .setIssuedAt()
    .sign(await importJWK(key, algorithm));
}

async function hashOf(token: string): Promise<string> {
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(token));
  const text = btoa(String.fromCharCode(...new Uint8Array(hash)));
  return text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
