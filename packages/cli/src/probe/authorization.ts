import { bearerChallenge } from "@durable-mcp/core/internal";
import { createGuardedFetch, discover, type Discovered } from "@durable-mcp/oauth/internal";
import {
  type AuthorizationFacts,
  type CheckResult,
  failed,
  type ProbeContext,
  warning,
} from "./checks.ts";
import type { Answer } from "./wire.ts";

/** Whether a server refuses because of who asks. */
export function wantsAuthorization({ status }: Answer): boolean {
  return status === 401 || status === 403;
}

/** What a server that refused wants: by its challenge, and the metadata that it leads to. */
export async function checkAuthorization(
  { wire, headers, limits, signal }: ProbeContext,
  refused: Answer,
): Promise<CheckResult> {
  const status = refused.status === 403 ? 403 : 401;
  const wasSent = Object.keys(headers).length > 0;
  const challenge = bearerChallenge(refused.headers);
  const known = { status, wasSent } as const;
  const guard = createGuardedFetch({ resource: wire.url, timeoutMs: limits.requestMs });
  const { resourceMetadata } = challenge ?? {};
  const found = await discover({
    url: wire.url,
    resourceMetadata,
    guard,
    mayUse: anyIssuer,
    signal,
  }).catch((error: unknown) => {
    signal.throwIfAborted();
    return error instanceof Error ? error : new Error(String(error));
  });
  const start = `${status}${wasSent ? " with the credentials given" : ""}${challenge?.error === undefined ? "" : ` (${challenge.error})`}.`;
  if (found instanceof Error) {
    const says = `${start} Its authorization server was not found: ${found.message}`;
    return failed(says, { authorization: known });
  }
  if (found.isAssumed) {
    const says = `${start} No OAuth metadata: it wants a token or a key that its operator gives out.`;
    return warning(says, { authorization: known });
  }
  const authorization = { ...known, ...factsOf(found, challenge?.scope) };
  return warning(`${start} ${describe(authorization)}`, { authorization });
}

/** Nothing but metadata is asked of it, and no credential is sent there. */
const anyIssuer = () => true;

function factsOf({ server, scopesSupported }: Discovered, asked: string | undefined) {
  const scopes = asked?.split(" ").filter((scope) => scope !== "") ?? scopesSupported ?? [];
  const registration = [
    ...(server.client_id_metadata_document_supported === true
      ? (["client ID metadata document"] as const)
      : []),
    ...(server.registration_endpoint === undefined ? [] : (["dynamic"] as const)),
    "pre-registered" as const,
  ];
  return { issuer: server.issuer, scopes, registration };
}

function describe({ issuer, scopes = [], registration = [] }: AuthorizationFacts): string {
  return [
    `OAuth, issuer ${issuer}.`,
    scopes.length === 0 ? "" : `Scopes: ${scopes.join(", ")}.`,
    `Clients: ${registration.join(", ")}.`,
  ]
    .filter((sentence) => sentence !== "")
    .join(" ");
}
