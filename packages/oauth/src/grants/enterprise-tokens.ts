import { textDigest, timeLimited } from "@durable-mcp/core/internal";
import type { EnterpriseOptions } from "../base/assertion-options.ts";
import { exchangeIdToken, requestByAssertion, takesIdJag } from "../protocol/assertion-grant.ts";
import { chooseAuthMethod, type Client } from "../protocol/client.ts";
import { findServer } from "../protocol/discover.ts";
import type { AuthorizationServer } from "../protocol/authorization-server.ts";
import { requestError } from "../protocol/server-request.ts";
import { scopesToAsk } from "../protocol/scopes.ts";
import {
  denied,
  notOffered,
  textOf,
  withoutClient,
  withoutRefresh,
} from "./application-answers.ts";
import { allowServer } from "./ask-for-tokens.ts";
import type { ResourceUse } from "./authorization-required.ts";
import type { OAuthContext } from "./oauth-context.ts";
import type { NeededSignIn } from "../records/grant-record.ts";
import type { AskOwn, OwnRequest } from "./own-request.ts";
import type { Denied } from "./asked-tokens.ts";
import { readChallenge } from "./read-challenge.ts";

/** What a provider says of an ID token that is over. Another login may help. */
const isOver = /^(?:invalid_grant|invalid_token|login_required|interaction_required)$/;

/** A user's tokens, by the company's login: its provider vouches for the user to the MCP server's own authorization server. */
export function enterpriseTokens(enterprise: EnterpriseOptions): AskOwn {
  return async (context, asked) => {
    const { use, server, resource, guard, signal, dpop } = asked;
    const { now } = context;
    if (!takesIdJag(server)) {
      if (enterprise.isRequired) return notOffered(use, server.issuer, enterprise.issuer);
      return { type: "not-offered" };
    }
    const client = context.clients.given(server);
    if (client === undefined) return withoutClient(use, server, "enterprise");
    const idToken = await tellIdToken(enterprise, use, signal);
    if (typeof idToken === "object") return idToken;
    if (idToken === undefined) return { type: "login-required" };
    const provider = await findProvider(enterprise, asked);
    if ("error" in provider) return provider;
    const scopes = scopesOf(asked);
    const sending = { resource, scopes, fetch: guard.fetch, signal, now };
    const exchanged = await exchangeIdToken({
      ...{ ...sending, ...provider, idToken, audience: server.issuer },
    });
    if (exchanged.type === "failed") return { type: "asked", outcome: exchanged, client, scopes };
    if (exchanged.type === "refused") {
      if (!isOver.test(exchanged.error)) return denied(use, provider.server.issuer, exchanged);
      return { type: "login-required", refusedIdToken: await textDigest(idToken) };
    }
    const { assertion } = exchanged;
    const outcome = await requestByAssertion({ server, client, ...sending, assertion, dpop });
    if (outcome.type === "refused") return denied(use, server.issuer, outcome);
    return { type: "asked", outcome: withoutRefresh(outcome), client, scopes };
  };
}

const tellIdToken = ({ idToken }: EnterpriseOptions, use: ResourceUse, abortSignal: AbortSignal) =>
  textOf(use, "enterprise.idToken", abortSignal, () =>
    idToken({ principal: use.principal, abortSignal }),
  );

/** Whether the login that a connection waits for is there: the next request asks for tokens. */
export async function isLoggedIn(
  { enterprise, timeoutMs }: OAuthContext,
  use: ResourceUse,
  { company }: NeededSignIn,
): Promise<boolean> {
  if (!company || !enterprise) return false;
  const idToken = await timeLimited(timeoutMs, undefined, (signal) =>
    tellIdToken(enterprise, use, signal),
  ).catch(() => undefined);
  return typeof idToken === "string" && (await textDigest(idToken)) !== company.refusedIdToken;
}

/** Those that the MCP server has asked for last, with those that the tokens have. */
function scopesOf({ use, record, server, scopesSupported }: OwnRequest): string[] {
  const challenged = use.refused ? readChallenge(use.refused).scopes : record?.needed?.scopes;
  const held = record?.tokens?.scopes;
  // It gives no refresh token that would be used.
  return scopesToAsk({
    ...{
      challenged,
      held,
      resourceScopes: scopesSupported,
      server: { ...server, scopes_supported: [] },
    },
  });
}

async function findProvider(
  { issuer, client }: EnterpriseOptions,
  { guard, signal }: OwnRequest,
): Promise<{ readonly server: AuthorizationServer; readonly client: Client } | Denied> {
  guard.allow(issuer);
  const server = await findServer(issuer, { issuers: [issuer] }, { fetch: guard.fetch, signal });
  if (server === undefined) {
    const url = new URL(issuer);
    const why = "the identity provider has no metadata there. Correct enterprise.issuer.";
    const error = requestError({ method: "GET", url }, why, { field: "enterprise.issuer" });
    return { type: "denied", error };
  }
  allowServer(guard, server);
  const { clientId, clientSecret: secret, privateKey, keyId, tokenEndpointAuthMethod } = client;
  const authMethod = chooseAuthMethod(server, {
    ...{ secret, privateKey, wanted: tokenEndpointAuthMethod },
  });
  return { server, client: { clientId, secret, privateKey, keyId, authMethod } };
}
