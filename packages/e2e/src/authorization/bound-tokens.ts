import { createHash } from "node:crypto";
import { calculateJwkThumbprint, decodeProtectedHeader, EmbeddedJWK, jwtVerify } from "jose";

const variable = "NOTEBOOK_BINDS_TOKENS";

/** Whether the tokens of the notebook are bound to keys, with nonces (DPoP, RFC 9449): in this process and its children. */
export const bindsTokens = (): boolean => process.env[variable] === "1";

export function bindTokens(): void {
  process.env[variable] = "1";
}

/** How often there is another nonce, in milliseconds. */
const nonceMs = 5_000;
const seen = new Set<string>();
const nonceNow = (before = 0) => `nonce-${Math.floor(Date.now() / nonceMs) - before}`;

/**
 * Checks the proof of a request as a gateway before a server does that knows bearer tokens alone.
 *
 * @param keyOf the thumbprint of the key to which a token is bound
 * @returns the request with a bearer token; or the refusal
 */
export async function checkProof(
  request: Request,
  keyOf: (token: string) => Promise<string | undefined>,
): Promise<Request | Response> {
  const [scheme, token = ""] = (request.headers.get("authorization") ?? "").split(" ");
  if (scheme === "") return request;
  const nonce = nonceNow();
  const refuse = (error: string) =>
    Response.json(
      { error },
      {
        status: 401,
        headers: { "WWW-Authenticate": `DPoP error="${error}"`, "DPoP-Nonce": nonce },
      },
    );
  const jkt = await keyOf(token);
  if (scheme !== "DPoP" || jkt === undefined) return refuse("invalid_token");
  const proof = request.headers.get("dpop") ?? "";
  const verified = await jwtVerify(proof, EmbeddedJWK, { typ: "dpop+jwt", maxTokenAge: 60 }).catch(
    () => undefined,
  );
  if (verified === undefined) return refuse("invalid_dpop_proof");
  const { htm, htu, ath, jti, nonce: given } = verified.payload as Record<string, string>;
  const { origin, pathname } = new URL(request.url);
  const isRight =
    (await calculateJwkThumbprint(decodeProtectedHeader(proof).jwk!)) === jkt &&
    ath === createHash("sha256").update(token).digest("base64url") &&
    htm === request.method &&
    htu === origin + pathname &&
    !seen.has(jti!);
  if (!isRight) return refuse("invalid_dpop_proof");
  // What was said a moment ago still counts.
  if (given !== nonce && given !== nonceNow(1)) return refuse("use_dpop_nonce");
  seen.add(jti!);
  const headers = new Headers(request.headers);
  headers.set("authorization", `Bearer ${token}`);
  return new Request(request, { headers });
}
