import { wait } from "@durable-mcp/core/internal";
import type { RefusedToken } from "../base/refused-token.ts";
import type { GrantRecord, GrantTokens } from "../records/grant-record.ts";
import type { Stored } from "../records/records.ts";
import { askApplicationTokens, askRefresh } from "./ask-for-tokens.ts";
import {
  authorizationRequired,
  noteNeeded,
  type ResourceUse,
  type SignInNeed,
} from "./authorization-required.ts";
import type { OAuthContext } from "./oauth-context.ts";
import { readChallenge } from "./read-challenge.ts";
import { claim, type Renewal, renew, renewClaimed } from "./renew.ts";
import { isDue, isUsable } from "./token-life.ts";

export interface TokenRequest extends ResourceUse {
  readonly refused?: RefusedToken | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * An access token that works, as far as anybody knows; `undefined` where nobody has signed in and no server has asked
 * for it.
 *
 * @throws {McpSessionError} `AUTHORIZATION_REQUIRED`; `CONNECTION_UNAVAILABLE` if the authorization server does not
 *   answer, and the tokens stay; `STORE_FAILED`
 */
export async function getToken(
  context: OAuthContext,
  request: TokenRequest,
): Promise<GrantTokens | undefined> {
  for (;;) {
    const stored = await context.records.grant(request.principal, request.resourceId);
    const answer = await tokenOf(context, request, stored);
    if (answer !== changed) return answer;
    // A store whose reads lag would have it look again at once, for ever.
    await wait(Math.random() * 50, request.signal);
  }
}

/** The record has changed meanwhile. */
const changed = Symbol("changed");

async function tokenOf(
  context: OAuthContext,
  request: TokenRequest,
  stored: Stored<GrantRecord>,
): Promise<GrantTokens | undefined | typeof changed> {
  const { refused } = request;
  const { tokens } = stored.record ?? {};
  if (tokens === undefined) return await withoutTokens(context, request, stored);
  const isRefused = refused !== undefined && refused.token === tokens.accessToken;
  if (isRefused && refused.status === 403) {
    return await stepUp(context, { ...request, refused }, stored, tokens);
  }
  const isUseful = (current: GrantTokens) =>
    current.accessToken !== refused?.token && isUsable(current, context.now());
  if (isUseful(tokens)) return await refreshedEarly(context, request, stored, tokens);
  return await renewed(context, request, stored, isUseful);
}

async function renewed(
  context: OAuthContext,
  request: TokenRequest,
  stored: Stored<GrantRecord>,
  isEnough: (tokens: GrantTokens) => boolean,
) {
  const { signal } = request;
  const { tokens } = stored.record ?? {};
  const ask =
    askRefresh(context, request, tokens) ?? askApplicationTokens(context, request, stored.record);
  const renewal: Renewal = ask
    ? await renew(context, request, stored, { ask, isEnough, signal })
    : { type: "over", stored };
  if (renewal.type === "tokens") return renewal.tokens;
  if (renewal.type === "failed") throw renewal.error;
  if (renewal.isLost) context.emit({ type: "refresh-lost", connection: request.connection });
  const { isLost } = renewal;
  const need = { isOver: true, ...(isLost && { isLost }) };
  return await required(context, request, renewal.stored, need);
}

/** The user signs in for more scopes at most this often within an hour. */
const maxStepUps = 3;
const stepUpsMs = 3_600_000;

async function stepUp(
  context: OAuthContext,
  request: TokenRequest & { readonly refused: RefusedToken },
  stored: Stored<GrantRecord>,
  tokens: GrantTokens,
) {
  // It waits for a sign-in already, which may bring enough.
  if (stored.record?.needed) return await required(context, request, stored);
  const now = context.now();
  const before = stored.record?.stepUps;
  const { count, since } =
    before && now - before.since < stepUpsMs ? before : { count: 0, since: now };
  const { scopes } = readChallenge(request.refused);
  // The user may have given less than the authorization server says, which another sign-in shows.
  const isGranted = scopes.length > 0 && scopes.every((scope) => tokens.scopes.includes(scope));
  // The server's own refusal says more than another sign-in would bring.
  if (count >= (isGranted ? 1 : maxStepUps)) return tokens;
  return await required(context, request, stored, { stepUps: { count: count + 1, since } });
}

/** What a server said is asked again after this time, in milliseconds: it may need no sign-in any more. */
const askAgainMs = 300_000;

async function withoutTokens(
  context: OAuthContext,
  request: TokenRequest,
  stored: Stored<GrantRecord>,
) {
  const { refused } = request;
  const { needed, lease } = stored.record ?? {};
  const isForApplication = request.principal.type === "app" && context.clients.hasOwnTokens;
  if (isForApplication && (refused || lease)) {
    return await renewed(context, request, stored, () => true);
  }
  if (refused !== undefined) return await required(context, request, stored);
  const isFresh = needed !== undefined && context.now() - needed.askedAt < askAgainMs;
  if (isFresh) throw authorizationRequired(context, request, needed);
  return undefined;
}

async function required(
  context: OAuthContext,
  request: TokenRequest,
  stored: Stored<GrantRecord>,
  need: Omit<SignInNeed, "asked"> = {},
): Promise<typeof changed> {
  const asked = request.refused && readChallenge(request.refused);
  const error = await noteNeeded(context, request, stored, { ...need, asked });
  if (error !== undefined) throw error;
  return changed;
}

/** A token that still works, or, shortly before its end, another one if this process is the one to ask. */
async function refreshedEarly(
  context: OAuthContext,
  request: TokenRequest,
  stored: Stored<GrantRecord>,
  tokens: GrantTokens,
): Promise<GrantTokens> {
  const ask = askRefresh(context, request, tokens);
  // Where a holder ended without a word, the token is used to its end first.
  const isLeft = stored.record?.lease !== undefined && stored.record.lease.tries > 0;
  const isHeld = stored.record?.lease !== undefined && stored.record.lease.until > context.now();
  if (ask === undefined || isLeft || isHeld || !isDue(tokens, context.now())) return tokens;
  const claimed = await claim(context, request, stored);
  if (claimed === undefined) return tokens;
  const renewal = await renewClaimed(context, request, claimed, { ask });
  if (renewal.type === "tokens") return renewal.tokens;
  // Of a refusal. After a sign-out the record is another one.
  if (renewal.type === "over" && renewal.stored === claimed) {
    // The token that is left works to its end, and then the user has to sign in.
    const { lease: _, ...record } = claimed.record!;
    const { refreshToken: _refresh, ...left } = tokens;
    await context.records.replace(claimed, { ...record, tokens: left });
  }
  return tokens;
}
