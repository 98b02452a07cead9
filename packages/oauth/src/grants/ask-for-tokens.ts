import { timeLimited } from "@durable-mcp/core/internal";
import type { RefusedToken } from "../base/refused-token.ts";
import { type AuthorizationServer, requestUrlsOf } from "../protocol/authorization-server.ts";
import type { Client } from "../protocol/client.ts";
import { findProtectedResource } from "../protocol/protected-resource.ts";
import { revokeToken } from "../protocol/revoke-token.ts";
import { refreshTokens, type TokenOutcome } from "../protocol/token-request.ts";
import type { GrantTokens } from "../records/grant-record.ts";
import type { ResourceUse } from "./authorization-required.ts";
import type { OAuthContext } from "./oauth-context.ts";
import type { AskForTokens } from "./asked-tokens.ts";
import { bindingOf } from "./token-binding.ts";
import { isUsable, renewedTokens } from "./token-life.ts";

/** The fetch for an authorization server's own endpoints. */
export function fetchFor(
  context: OAuthContext,
  url: URL,
  server: AuthorizationServer,
): typeof globalThis.fetch {
  const guard = context.guard(url);
  allowServer(guard, server);
  return guard.fetch;
}

/** Allows an issuer, and the endpoints that its own metadata names. */
export function allowServer(
  guard: { readonly allow: (url: string) => void },
  server: AuthorizationServer,
): void {
  for (const url of requestUrlsOf(server)) guard.allow(url);
}

/** Nothing was sent: the tokens, or the client they were given to, are gone. */
export const refusedHere = { type: "refused", error: "invalid_client", description: "" } as const;

/** A use of a resource, perhaps after the server has refused a token. */
export type RefusedUse = ResourceUse & { readonly refused?: RefusedToken | undefined };

/** Refreshes tokens; `undefined` if there is no refresh token. */
export function askRefresh(
  context: OAuthContext,
  use: RefusedUse,
  tokens: GrantTokens | undefined,
): AskForTokens | undefined {
  if (tokens?.refreshToken === undefined) return undefined;
  const { url } = use;
  return async (before, mark) => {
    if (before?.refreshToken === undefined) return refusedHere;
    const { server, resource, refreshToken } = before;
    const client = await context.clients.find(server, before);
    if (client === undefined || !(await isStillRight(context, use, before))) return refusedHere;
    const fetch = fetchFor(context, url, server);
    if (!(await mark())) return { type: "overtaken" };
    // Who asked may leave, but the answer must not be lost.
    const outcome = await timeLimited(context.timeoutMs, undefined, (signal) =>
      refreshTokens({
        ...{ server, client, refreshToken, resource, fetch, signal, now: context.now },
        dpop: bindingOf(context, use, before.key),
      }),
    );
    if (outcome.type === "refused" && outcome.error === "invalid_client") {
      await context.clients.forget(server, before);
    }
    return asAnswer(context, url, outcome, { client, before });
  };
}

/** Whether an authorization server may be used, and is the one of the MCP server. */
export async function isStillRight(
  context: OAuthContext,
  use: RefusedUse,
  before: GrantTokens,
): Promise<boolean> {
  // The application may allow fewer issuers now.
  const isAllowed = context.mayUse(new URL(before.server.issuer), use);
  return isAllowed && !(await hasMoved(context, use, before));
}

/**
 * Whether a server that refuses a token before its end has moved to another authorization server. The old one would
 * refresh for ever, and no token of it would be taken.
 */
async function hasMoved(
  context: OAuthContext,
  { url, refused }: RefusedUse,
  before: GrantTokens,
): Promise<boolean> {
  const { server, accessToken } = before;
  if (refused?.token !== accessToken || !isUsable(before, context.now())) return false;
  const { fetch } = context.guard(url);
  try {
    const found = await timeLimited(context.timeoutMs, undefined, (signal) =>
      findProtectedResource(url, refused.challenge?.resourceMetadata, { fetch, signal }),
    );
    return found !== undefined && !found.issuers.some((each) => isSameUrl(each, server.issuer));
  } catch {
    // A server that cannot say where its users sign in has not moved.
    return false;
  }
}

function isSameUrl(one: string, other: string): boolean {
  return URL.canParse(one) && new URL(one).href === new URL(other).href;
}

type Before = Parameters<typeof renewedTokens>[1];

export function asAnswer(
  context: OAuthContext,
  url: URL,
  outcome: TokenOutcome,
  { client, before }: { readonly client: Client; readonly before: Before },
): Awaited<ReturnType<AskForTokens>> {
  if (outcome.type !== "tokens") return outcome;
  const tokens = renewedTokens(outcome.tokens, before, context.now());
  return { type: "tokens", tokens, undo: () => revoke(context, url, tokens, client) };
}

/** Revokes tokens, the refresh token first. @returns whether the authorization server has done it */
export async function revoke(
  context: OAuthContext,
  url: URL,
  { server, accessToken, refreshToken }: GrantTokens,
  client: Client,
): Promise<boolean> {
  const fetch = fetchFor(context, url, server);
  const revokeOne = async (token: string, hint: "access_token" | "refresh_token") => {
    const outcome = await timeLimited(context.timeoutMs, undefined, (signal) =>
      revokeToken({ server, client, token, hint, fetch, signal }),
    );
    return outcome.type === "revoked";
  };
  const isRefreshGone =
    refreshToken === undefined || (await revokeOne(refreshToken, "refresh_token"));
  const isAccessGone = await revokeOne(accessToken, "access_token");
  return isRefreshGone && isAccessGone;
}
