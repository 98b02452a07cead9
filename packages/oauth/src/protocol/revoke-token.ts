import type { McpSessionError } from "@durable-mcp/core";
import * as oauth from "oauth4webapi";
import { asServer, type AuthorizationServer } from "./authorization-server.ts";
import { authenticate, type Client, clientOf } from "./client.ts";
import { isLoopbackUrl } from "./loopback-url.ts";
import { requestError, type Sending, sendRequest } from "./server-request.ts";
import { errorWord } from "./server-words.ts";

/** What a revocation brought. */
export type RevocationOutcome =
  | { readonly type: "revoked" }
  /** The server has no endpoint for it. */
  | { readonly type: "unsupported" }
  | { readonly type: "failed"; readonly error: McpSessionError };

/**
 * Revokes a token. With a refresh token the whole grant ends.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7009#section-2
 */
export async function revokeToken({
  server,
  client,
  token,
  hint,
  fetch,
  signal,
}: Sending & {
  readonly server: AuthorizationServer;
  readonly client: Client;
  readonly token: string;
  readonly hint: "access_token" | "refresh_token";
}): Promise<RevocationOutcome> {
  if (server.revocation_endpoint === undefined) return { type: "unsupported" };
  const name = { method: "POST", url: new URL(server.revocation_endpoint) } as const;
  const answer = await sendRequest(name, { fetch, signal }, (customFetch, limit) =>
    oauth.revocationRequest(asServer(server), clientOf(client), authenticate(client), token, {
      [oauth.customFetch]: customFetch,
      [oauth.allowInsecureRequests]: isLoopbackUrl(name.url),
      additionalParameters: { token_type_hint: hint },
      ...(limit !== undefined && { signal: limit }),
    }),
  );
  if (answer.type === "failed") return { type: "failed", error: answer.error };
  const { status, json } = answer;
  if (status === 200) return { type: "revoked" };
  const error = errorWord(json?.["error"], [token, client.secret]);
  if (error === "unsupported_token_type") return { type: "unsupported" };
  const word = error === undefined ? "" : ` (${error})`;
  const why = `the token was not revoked${word}. It stays good until it expires.`;
  return { type: "failed", error: requestError(name, why, { status }) };
}
