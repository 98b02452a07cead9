import { McpSessionError, type Principal } from "@durable-mcp/core";
import type { WaitingAuthorization } from "@durable-mcp/core/waiting";
import type { AuthorizationUse, GetToken } from "./credential-options.ts";
import { endpointOf, type McpClientConnection } from "./define-connection.ts";
import { clientConnections, type Connections } from "./mcp-connection.ts";

type AuthorizationSource = GetToken & Required<Pick<GetToken, "authorizationFor">>;

/** Where a connection's sign-ins can be asked for; `undefined` for tokens that come in another way. */
export function authorizationSource({
  options: { auth },
}: Pick<McpClientConnection, "options">): AuthorizationSource | undefined {
  const isSource = typeof auth === "object" && typeof auth.authorizationFor === "function";
  return isSource ? (auth as AuthorizationSource) : undefined;
}

/**
 * The sign-in that a connection waits for, if there is one.
 *
 * @throws {McpSessionError} the error of `auth.authorizationFor`, such as that of its store; for other errors
 *   `CONNECTION_UNAVAILABLE`
 */
export async function pendingSignIn(
  definition: McpClientConnection,
  { connection, principal, sessionId }: Omit<AuthorizationUse, "url">,
): Promise<WaitingAuthorization | undefined> {
  const source = authorizationSource(definition);
  if (source === undefined) return undefined;
  const url = endpointOf(definition);
  try {
    const required = await source.authorizationFor({ principal, connection, url, sessionId });
    if (required === undefined) return undefined;
    const { scopes, startUrl, askedAt } = required;
    const server = new URL(url).origin;
    return { kind: "authorization", connection, server, scopes, startUrl, askedAt };
  } catch (cause) {
    if (McpSessionError.isInstance(cause)) throw cause;
    const field = "auth.authorizationFor";
    throw new McpSessionError(
      "CONNECTION_UNAVAILABLE",
      `Connection ${connection}: ${field} failed; see the cause. Whether the user has to sign in is unknown. Nothing was sent.`,
      { data: { field, connection }, cause },
    );
  }
}

/** The sign-ins that the declared connections wait for. @throws as `pendingSignIn` */
export async function pendingSignIns(
  declared: Readonly<Connections>,
  principal: Principal | undefined,
  sessionId: string | undefined,
): Promise<WaitingAuthorization[]> {
  // Nobody signs in for an unknown user.
  if (principal === undefined) return [];
  const entries = Object.entries(clientConnections(declared));
  const pending = await Promise.all(
    entries.map(([connection, definition]) =>
      pendingSignIn(definition, { connection, principal, sessionId }),
    ),
  );
  return pending.filter((entry) => entry !== undefined);
}
