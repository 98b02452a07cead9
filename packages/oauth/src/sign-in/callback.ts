import { McpSessionError, type Principal } from "@durable-mcp/core";
import { timeLimited } from "@durable-mcp/core/internal";
import type { SignInRefusal } from "../base/oauth-event.ts";
import { fetchFor, revoke } from "../grants/ask-for-tokens.ts";
import { newGrant, type ResourceUse } from "../grants/authorization-required.ts";
import type { OAuthContext } from "../grants/oauth-context.ts";
import { saveInsistently } from "../grants/save-insistently.ts";
import { bindingOf } from "../grants/token-binding.ts";
import { renewedTokens } from "../grants/token-life.ts";
import { checkCallback } from "../protocol/check-callback.ts";
import { createKey } from "../protocol/dpop-proof.ts";
import { exchangeCode } from "../protocol/token-request.ts";
import type { GrantTokens } from "../records/grant-record.ts";
import { resourceIdOf } from "../records/resource-id.ts";
import type { SignInRecord } from "../records/sign-in-record.ts";

/** The outcome of a callback. */
export type CallbackOutcome =
  | {
      readonly type: "signed-in";
      readonly connection: string;
      readonly url: URL;
      readonly sessionId?: string | undefined;
      readonly issuer: string;
      readonly returnUrl?: string | undefined;
    }
  | {
      readonly type: "refused";
      readonly reason: SignInRefusal;
      readonly connection?: string | undefined;
      readonly error?: McpSessionError | undefined;
      /** Set where the sign-in is over. */
      readonly returnUrl?: string | undefined;
    };

/**
 * Ends a sign-in: consumes its state, and exchanges the code for tokens, once.
 *
 * @param url of the callback, with the authorization server's parameters
 */
export async function finishSignIn(
  context: OAuthContext,
  principal: Principal,
  url: URL,
): Promise<CallbackOutcome> {
  const { records, clients, now } = context;
  const [state, ...others] = url.searchParams.getAll("state");
  if (!state || others.length > 0) return { type: "refused", reason: "unknown" };
  // Found under its principal alone: nobody finishes somebody else's.
  const stored = await records.signIn(principal, state);
  const signIn = stored.record;
  if (signIn === undefined) return { type: "refused", reason: "unknown" };
  const { connection, server, clientId } = signIn;
  const refused = (reason: SignInRefusal, error?: McpSessionError) =>
    ({ type: "refused", reason, connection, error }) as const;
  if (signIn.expiresAt <= now()) return refused("expired");
  const client = await clients.find(server, signIn);
  if (client === undefined) return refused("not-exchanged");

  const checked = checkCallback({ server, client, url, state });
  // What is forged changes nothing.
  if (checked.type === "forged") return refused("forged", refusal(signIn, checked.why));
  // Whoever removes it is the one to go on: neither code nor verifier is used twice.
  if (!(await records.remove(stored))) return refused("unknown");
  const over = (reason: SignInRefusal, error?: McpSessionError) => ({
    ...refused(reason, error),
    returnUrl: signIn.returnUrl,
  });
  const resourceUrl = new URL(signIn.url);
  const resourceId = await resourceIdOf(resourceUrl);
  const use = { principal, connection, url: resourceUrl, resourceId };
  if (checked.type === "denied") {
    if (checked.error === "invalid_scope") await forgetScopes(context, use);
    return over("denied", refusal(signIn, checked));
  }

  const { parameters } = checked;
  const { resource, redirectUrl, verifier, scopes } = signIn;
  const fetch = fetchFor(context, resourceUrl, server);
  const key = signIn.isBound ? await createKey() : undefined;
  const dpop = bindingOf(context, use, key);
  const own = { server, client, resource, fetch, now, dpop };
  const issued = await timeLimited(context.timeoutMs, undefined, (signal) =>
    exchangeCode({ ...own, parameters, redirectUrl, verifier, signal }),
  );
  if (issued.type === "failed") return over("not-exchanged", issued.error);
  if (issued.type === "refused") {
    if (issued.error === "invalid_client") await clients.forget(server, signIn);
    return over("not-exchanged", refusal(signIn, issued));
  }
  const signedInAt = now();
  const before = {
    server,
    clientId,
    redirectUrl,
    resource,
    scopes,
    signedInAt,
    ...(key && { key }),
  };
  const tokens = renewedTokens(issued.tokens, before, signedInAt);
  if (await save(context, use, tokens, signIn)) {
    const { sessionId, returnUrl } = signIn;
    const { issuer } = server;
    return { type: "signed-in", connection, url: resourceUrl, sessionId, issuer, returnUrl };
  }
  await revoke(context, resourceUrl, tokens, client);
  return over("signed-out");
}

/** What the authorization server said, or what is wrong with what it seems to have said. */
function refusal(
  { connection, server }: SignInRecord,
  said: string | { readonly error: string; readonly description: string },
): McpSessionError {
  const { origin } = new URL(server.issuer);
  const words =
    typeof said === "string"
      ? `a callback was refused: ${said}`
      : `${origin} refused the sign-in: ${said.error}${said.description === "" ? "" : ` (${said.description})`}`;
  return new McpSessionError("AUTHORIZATION_REQUIRED", `Connection ${connection}: ${words}.`, {
    data: { connection, origin, reason: "authorization-required" },
  });
}

/**
 * Forgets the scopes that the MCP server has asked for. The authorization server would refuse them in each sign-in. What
 * is needed, the MCP server says again.
 */
async function forgetScopes({ records }: OAuthContext, use: ResourceUse): Promise<void> {
  const stored = await records.grant(use.principal, use.resourceId);
  const { tokens, needed } = stored.record ?? {};
  if (needed === undefined) return;
  // In a conflict somebody has asked again.
  const scopes = tokens?.scopes ?? [];
  await records.replace(stored, { ...stored.record!, needed: { ...needed, scopes } });
}

/** @returns whether the user has not signed out since the sign-in began */
async function save(
  { records }: OAuthContext,
  use: ResourceUse,
  tokens: GrantTokens,
  { signOuts: before = 0 }: SignInRecord,
): Promise<boolean> {
  return await saveInsistently(async () => {
    for (;;) {
      const stored = await records.grant(use.principal, use.resourceId);
      const record = stored.record ?? newGrant(use);
      const { needed: _needed, lease: _lease, unanswered: _answered, ...kept } = record;
      if ((kept.signOuts ?? 0) > before) return false;
      const next = { ...kept, ...newGrant(use), generation: kept.generation + 1, tokens };
      if ((await records.replace(stored, next)) !== undefined) return true;
    }
  });
}
