import type { Principal } from "@durable-mcp/core";
import type { OAuthContext } from "./oauth-context.ts";

/** A principal's sign-in at a connection, without its tokens. Times are milliseconds since 1970-01-01 UTC. */
export interface Grant {
  readonly connection: string;
  /** The origin of the MCP server. */
  readonly server: string;
  /** The authorization server's issuer. */
  readonly issuer: string;
  readonly scopes: readonly string[];
  /** The time of the sign-in. */
  readonly signedInAt: number;
  /** When the access token expires; it is refreshed before. */
  readonly expiresAt?: number | undefined;
  /** Whether the server wants the user to sign in again, for more scopes. */
  readonly isMoreNeeded: boolean;
}

export async function listGrants(
  { records }: OAuthContext,
  principal: Principal,
): Promise<Grant[]> {
  const stored = await records.grants(principal);
  return stored.flatMap(({ record }): Grant[] => {
    if (record?.tokens === undefined) return [];
    const { url, connection, needed, tokens } = record;
    const { server, scopes, signedInAt, expiresAt } = tokens;
    return [
      {
        ...{ connection, server: new URL(url).origin, issuer: server.issuer, scopes, signedInAt },
        ...(expiresAt !== undefined && { expiresAt }),
        isMoreNeeded: needed !== undefined,
      },
    ];
  });
}
