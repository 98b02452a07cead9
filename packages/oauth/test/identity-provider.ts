import { randomUUID } from "node:crypto";
import { text } from "node:stream/consumers";
import { generateKeyPair, jwtVerify, SignJWT } from "jose";
import { startLoopbackServer } from "./loopback-server.ts";

const idJag = "urn:ietf:params:oauth:token-type:id-jag";

/** What the provider does at its next exchange: nothing more than refuse, or fail before or after it has issued. */
type Trouble = { readonly error: string } | { readonly status: number } | "silence";

/** A company's identity provider: its users' ID tokens, and what it gives for them (RFC 8693). */
export async function startIdentityProvider({ clientId = "agent", secret = "agent-secret" } = {}) {
  const { privateKey, publicKey } = await generateKeyPair("ES256");
  const secrets = new Set<string>([secret]);
  const revoked = new Set<string>();
  const used = new Set<string>();
  const exchanges: URLSearchParams[] = [];
  const rules = { trouble: undefined as Trouble | undefined };
  const sign = async (claims: Record<string, unknown>, typ: string, audience: string) => {
    const jwt = await new SignJWT({ ...claims, jti: randomUUID() })
      .setProtectedHeader({ alg: "ES256", typ })
      .setIssuer(server.origin)
      .setAudience(audience)
      .setIssuedAt()
      .setExpirationTime("5m")
      .sign(privateKey);
    secrets.add(jwt);
    return jwt;
  };
  const server = await startLoopbackServer((request, response) => {
    const send = (status: number, body: unknown) => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify(body));
    };
    const answer = async () => {
      const body = new URLSearchParams(await text(request));
      if (request.url === "/.well-known/openid-configuration") {
        return send(200, { issuer: server.origin, token_endpoint: `${server.origin}/token` });
      }
      if (request.url !== "/token") return send(404, {});
      exchanges.push(body);
      const { trouble } = rules;
      if (trouble === "silence") return undefined;
      if (request.headers.authorization !== `Basic ${btoa(`${clientId}:${secret}`)}`) {
        return send(401, { error: "invalid_client" });
      }
      if (trouble && "error" in trouble) return send(400, { error: trouble.error });
      const token = body.get("subject_token") ?? "";
      const isAsked =
        body.get("grant_type") === "urn:ietf:params:oauth:grant-type:token-exchange" &&
        body.get("requested_token_type") === idJag &&
        body.get("subject_token_type") === "urn:ietf:params:oauth:token-type:id_token";
      if (!isAsked) return send(400, { error: "invalid_request" });
      const options = { issuer: server.origin, audience: clientId };
      const { payload } = await jwtVerify(token, publicKey, options);
      if (revoked.has(payload.sub!)) return send(400, { error: "invalid_grant" });
      const { resource, scope = "" } = Object.fromEntries(body);
      const claims = { sub: payload.sub, resource, scope, client_id: clientId };
      const jag = await sign(claims, "oauth-id-jag+jwt", body.get("audience")!);
      if (trouble) return send(trouble.status, { error: "gateway" });
      return send(200, { access_token: jag, issued_token_type: idJag, token_type: "N_A" });
    };
    answer().catch((error: unknown) => send(500, { error: String(error) }));
  });
  return {
    ...server,
    ...{ rules, secrets, exchanges, revoked },
    client: { clientId, clientSecret: secret },
    /** The user has logged in. */
    idTokenOf: (user: string) => sign({ sub: user }, "JWT", clientId),
    /** What an authorization server that trusts this provider makes of an assertion, once. */
    checkAssertion: async (audience: string, resource: string, parameters: URLSearchParams) => {
      const assertion = parameters.get("assertion") ?? "";
      try {
        const { payload, protectedHeader } = await jwtVerify(assertion, publicKey, {
          ...{ audience, issuer: server.origin, typ: "oauth-id-jag+jwt" },
        });
        const isFresh = !used.has(payload.jti!) && payload["resource"] === resource;
        used.add(payload.jti!);
        return isFresh && protectedHeader.alg === "ES256" ? undefined : "invalid_grant";
      } catch {
        return "invalid_grant";
      }
    },
  };
}
