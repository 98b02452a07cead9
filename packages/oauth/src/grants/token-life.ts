import type { Tokens } from "../protocol/tokens.ts";
import type { GrantTokens } from "../records/grant-record.ts";

/** A token that is about to expire would be refused on its way, in milliseconds before its end. */
const spareMs = 5_000;
/** Tokens are refreshed this long before their end at the latest, and at most twice as long, in milliseconds. */
const earlyMs = 60_000;

/** Whether an access token may still be sent. */
export function isUsable(tokens: GrantTokens, now: number): boolean {
  const { expiresAt } = tokens;
  return expiresAt === undefined || now < expiresAt - Math.min(spareMs, 0.05 * lifeOf(tokens));
}

/** Whether it is time to refresh. Not at the same moment in all processes. */
export function isDue(tokens: GrantTokens, now: number): boolean {
  const { expiresAt } = tokens;
  if (expiresAt === undefined) return false;
  return now >= expiresAt - (1 + Math.random()) * Math.min(earlyMs, 0.1 * lifeOf(tokens));
}

function lifeOf({ obtainedAt, expiresAt = obtainedAt }: GrantTokens): number {
  return Math.max(0, expiresAt - obtainedAt);
}

/** A grant's tokens after an answer to `before`, or to the first request. */
export function renewedTokens(
  { accessToken, refreshToken, scopes, expiresAt, isBound }: Tokens,
  before: Omit<GrantTokens, "accessToken" | "obtainedAt" | "expiresAt">,
  now: number,
): GrantTokens {
  const { server, clientId, redirectUrl, resource, signedInAt, key } = before;
  // A server that does not rotate leaves the refresh token out.
  const kept = refreshToken ?? before.refreshToken;
  const isKept = kept !== undefined && kept === before.refreshToken;
  return {
    ...{ server, clientId, resource, accessToken, signedInAt, obtainedAt: now },
    ...(redirectUrl !== undefined && { redirectUrl }),
    scopes: scopes ?? before.scopes,
    ...(kept !== undefined && { refreshToken: kept }),
    ...(isKept && { isRefreshTokenKept: true as const }),
    ...(expiresAt !== undefined && { expiresAt }),
    ...(isBound && { key: key! }),
  };
}
