import { wait } from "@durable-mcp/core/internal";
import type { RefusedToken } from "../base/refused-token.ts";
import type { GrantRecord, GrantTokens } from "../records/grant-record.ts";
import type { Stored } from "../records/records.ts";
import { askRefresh } from "./ask-for-tokens.ts";
import { askWithoutUser } from "./ask-without-user.ts";
import {
  authorizationRequired,
  noteNeeded,
  type ResourceUse,
  type SignInNeed,
} from "./authorization-required.ts";
import { isHeld, type OAuthContext } from "./oauth-context.ts";
import { readChallenge } from "./read-challenge.ts";
import { claim, type Renewal, renew } from "./renew.ts";
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
    askRefresh(context, request, tokens) ?? askWithoutUser(context, request, stored.record);
  const renewal: Renewal = ask
    ? await renew(context, request, stored, { ask, isEnough, signal })
    : { type: "over", stored, lost: stored.record?.unanswered?.reason };
  if (renewal.type === "tokens") return renewal.tokens;
  if (renewal.type === "failed") throw renewal.error;
  const { lost, login } = renewal;
  return await required(context, request, renewal.stored, { isOver: true, lost, login });
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
  const stepUps = { count: count + 1, since };
  if (tokens.redirectUrl !== undefined || !askWithoutUser(context, request, stored.record)) {
    return await required(context, request, stored, { stepUps });
  }
  // No user gave these scopes, and none is to give more.
  const noted = await context.records.replace(stored, { ...stored.record!, stepUps });
  const isOther = ({ accessToken }: GrantTokens) => accessToken !== tokens.accessToken;
  return noted ? await renewed(context, request, noted, isOther) : changed;
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
  const isWanted = refused ?? lease ?? needed?.company;
  if (isWanted && askWithoutUser(context, request, stored.record)) {
    return await renewed(context, request, stored, () => true);
  }
  if (refused !== undefined) return await required(context, request, stored);
  const isFresh = needed !== undefined && context.now() - needed.askedAt < askAgainMs;
  if (isFresh) throw await authorizationRequired(context, request, stored.record!);
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
  const { now, timeoutMs } = context;
  const own = request.principal.type === "app" ? undefined : stored.record;
  const ask =
    askRefresh(context, request, tokens) ?? (own && askWithoutUser(context, request, own));
  const isOthers = isHeld(stored.record?.lease, context);
  if (ask === undefined || isOthers || !isDue(tokens, now())) return tokens;
  const claimed = await claim(context, request, stored);
  if (claimed === undefined) return tokens;
  const isEnough = ({ accessToken }: GrantTokens) => accessToken !== tokens.accessToken;
  const renewing = renew(context, request, claimed, { ask, isEnough, claimed }).then(
    async (renewal) => {
      if (renewal.type === "over") await giveUp(context, request, renewal);
      return renewal.type === "tokens" ? renewal.tokens : tokens;
    },
  );
  // The refresh goes on. What works need not wait for it.
  const done = new AbortController();
  const spare = wait(timeoutMs / 2, done.signal).then(() => tokens);
  return await Promise.race([renewing, spare]).finally(() => done.abort());
}

/** The token that is left works to its end, and then the user has to sign in. */
async function giveUp(
  { records, emit }: OAuthContext,
  { connection }: TokenRequest,
  { stored, lost }: Extract<Renewal, { type: "over" }>,
): Promise<void> {
  const { record } = stored;
  if (record?.tokens === undefined) return;
  const { lease: _, unanswered, ...rest } = record;
  const { refreshToken: _refresh, ...left } = record.tokens;
  const next = { ...rest, tokens: left, ...(lost && { unanswered }) };
  // In a conflict somebody has signed out or in, or brought tokens.
  if ((await records.replace(stored, next)) === undefined || lost === undefined) return;
  emit({ type: "refresh-lost", connection, reason: lost });
}
