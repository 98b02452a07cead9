import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { calculateJwkThumbprint, decodeProtectedHeader, EmbeddedJWK, jwtVerify } from "jose";
import { startLoopbackServer } from "./loopback-server.ts";

interface ProofRules {
  /** Whether its metadata says that it takes proofs. Its challenges do. @default true */
  isNamed?: boolean;
  /** The thumbprint of the key to which a token is bound. */
  keyOf: (token: string) => Promise<string | undefined>;
  issuers: readonly string[];
}

/** An MCP server that takes tokens with proofs alone, each with the nonce that it has said last (RFC 9449). */
export async function startProofCheckingServer({ keyOf, issuers, isNamed = true }: ProofRules) {
  const seen = new Set<string>();
  const secrets = new Set<string>();
  const given = new Set<string>();
  let counted = 1;
  const state = {
    isOnce: false,
    nonce: "nonce-1",
    answered: 0,
    refused: [] as string[],
    bearer: 0,
  };
  /** What is wrong with a request. */
  const wrong = async ({ method, headers, url }: IncomingMessage): Promise<string | undefined> => {
    const [scheme, token = ""] = (headers.authorization ?? "").split(" ");
    if (scheme === "Bearer") state.bearer += 1;
    if (scheme !== "DPoP") return "no token";
    const proof = String(headers["dpop"]);
    secrets.add(proof).add(token);
    const { payload } = await jwtVerify(proof, EmbeddedJWK, { typ: "dpop+jwt", maxTokenAge: 60 });
    const { jwk } = decodeProtectedHeader(proof);
    if (jwk === undefined || "d" in jwk) return "key";
    if ((await calculateJwkThumbprint(jwk)) !== (await keyOf(token))) return "another key";
    if (payload["ath"] !== createHash("sha256").update(token).digest("base64url")) return "ath";
    if (payload["htm"] !== method) return "htm";
    if (payload["htu"] !== new URL(url!, server.origin).href.split("?")[0]) return "htu";
    const nonce = String(payload["nonce"]);
    const isKnown = state.isOnce ? given.delete(nonce) : nonce === state.nonce;
    if (!isKnown) return "use_dpop_nonce";
    if (seen.has(payload.jti!)) return "replayed";
    seen.add(payload.jti!);
    return undefined;
  };
  const server = await startLoopbackServer((request, response) => {
    const send = (status: number, body: unknown, headers: Record<string, string> = {}) => {
      response.writeHead(status, { "content-type": "application/json", ...headers });
      response.end(JSON.stringify(body));
    };
    const { pathname } = new URL(request.url!, server.origin);
    if (pathname === "/.well-known/oauth-protected-resource/mcp") {
      const scopes = {
        scopes_supported: ["notes:read"],
        ...(isNamed && { dpop_bound_access_tokens_required: true }),
      };
      send(200, { resource: `${server.origin}/mcp`, authorization_servers: issuers, ...scopes });
      return;
    }
    const answer = async () => {
      const why = await wrong(request);
      if (state.isOnce) given.add((state.nonce = `nonce-${(counted += 1)}`));
      const nonce = { "dpop-nonce": state.nonce };
      secrets.add(state.nonce);
      if (why === undefined) {
        state.answered += 1;
        send(200, { ok: true }, nonce);
        return;
      }
      if (why !== "no token") state.refused.push(why);
      const error = why === "use_dpop_nonce" ? `error="${why}"` : `error="invalid_token"`;
      send(401, { error: why }, { ...nonce, "www-authenticate": `DPoP ${error}` });
    };
    answer().catch((error: unknown) => send(500, { error: String(error) }));
  });
  return { ...server, url: `${server.origin}/mcp`, state, secrets };
}
