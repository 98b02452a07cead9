import { McpSessionError } from "@durable-mcp/core";
import type { TokenProof } from "@durable-mcp/core/internal";
import type { JWK } from "jose";
import type { AuthorizationServer } from "../protocol/authorization-server.ts";
import { createProof, takesProofs } from "../protocol/dpop-proof.ts";
import type { TokenBinding } from "../protocol/token-request.ts";
import type { GrantTokens } from "../records/grant-record.ts";
import type { ResourceUse } from "./authorization-required.ts";
import type { NonceRole } from "./nonces.ts";
import type { OAuthContext } from "./oauth-context.ts";

/**
 * Whether new tokens are bound to a key: many authorization servers would, and their MCP servers know nothing of it.
 *
 * @param isTaken whether the MCP server takes such tokens
 * @throws {McpSessionError} `CONNECTION_UNAVAILABLE` if tokens must be bound, and the server binds none
 */
export function isToBind(
  { dpop }: OAuthContext,
  { connection }: ResourceUse,
  server: AuthorizationServer,
  isTaken: boolean | undefined,
): boolean {
  if (takesProofs(server)) return dpop === "required" || (dpop !== false && isTaken === true);
  if (dpop !== "required") return false;
  const { origin } = new URL(server.issuer);
  throw new McpSessionError(
    "CONNECTION_UNAVAILABLE",
    `Connection ${connection}: ${origin} binds no tokens to keys (DPoP with ES256), and dpop is "required". Nothing was carried out.`,
    { data: { connection, origin, reason: "authorization-required", field: "dpop" } },
  );
}

/** Binds the tokens of a request to a key; `undefined` without one. */
export function bindingOf(
  context: OAuthContext,
  use: ResourceUse,
  key: JWK | undefined,
): TokenBinding | undefined {
  if (key === undefined) return undefined;
  const proof = createTokenProof(context, use, { key, role: "authorization-server" });
  return { proof, isRequired: context.dpop === "required" };
}

/** What sends a token of a grant to the MCP server; `undefined` for a bearer token. */
export function proofOf(
  context: OAuthContext,
  use: ResourceUse,
  { key, accessToken: token }: GrantTokens,
): TokenProof | undefined {
  return key && createTokenProof(context, use, { key, role: "resource", token });
}

function createTokenProof(
  { nonces }: OAuthContext,
  use: ResourceUse,
  { key, role, token }: { readonly key: JWK; readonly role: NonceRole; readonly token?: string },
): TokenProof {
  return {
    async prove({ method, url, nonce: wanted }) {
      const nonce = wanted ?? (await nonces.of(use)).get(role);
      return {
        header: await createProof(key, { method, url, token, nonce }),
        takeNonce: async (given) => given !== nonce && (await nonces.take(use, role, given)),
      };
    },
  };
}

/** The error for a caller that would send a bound token bare: of no use, and anybody's who sees it. */
export function boundToken(connection: string): McpSessionError {
  return new McpSessionError(
    "CONNECTION_INVALID",
    `Connection ${connection}: its token is bound to a key (DPoP), and the caller of getToken sends no proofs. Use the fetch of connect, or createOAuth with dpop: false, and have the user sign in again.`,
    { data: { connection, field: "takesDpop" } },
  );
}
