import { timeLimited } from "@durable-mcp/core/internal";
import { allowServer } from "../grants/ask-for-tokens.ts";
import { newGrant, type ResourceUse } from "../grants/authorization-required.ts";
import type { OAuthContext } from "../grants/oauth-context.ts";
import { signInMs } from "../grants/sign-out.ts";
import { isToBind } from "../grants/token-binding.ts";
import { openChat } from "../records/chat-reference.ts";
import { discover } from "../protocol/discover.ts";
import { scopesToAsk } from "../protocol/scopes.ts";
import { createSignIn, newState, newVerifier } from "../protocol/sign-in-request.ts";

/** A sign-in that is about to begin. */
export interface SignInStart extends ResourceUse {
  readonly redirectUrl: URL;
  /** The link's reference to an agent session. */
  readonly chat: string | null;
  readonly returnUrl?: URL | undefined;
  readonly isBearer?: boolean | undefined;
}

/**
 * Begins a sign-in: finds the authorization server, registers there if need be, and keeps what the callback needs
 * under a new state.
 *
 * @returns where to send the browser
 * @throws {McpSessionError} `CONNECTION_UNAVAILABLE`, `STORE_FAILED`
 */
export async function startSignIn(
  context: OAuthContext,
  { redirectUrl, chat, ...use }: SignInStart,
): Promise<URL> {
  const { principal, connection, url, resourceId, sessionId } = use;
  const { records, clients, now, timeoutMs } = context;
  const grant = await records.grant(principal, resourceId);
  const { record } = grant;
  const guard = context.guard(url);
  // Several requests: metadata of the resource and of its authorization server, and a registration.
  return await timeLimited(4 * timeoutMs, undefined, async (signal) => {
    const { server, resource, scopesSupported, takesProofs } = await discover({
      ...{ url, guard, signal, resourceMetadata: record?.needed?.resourceMetadata },
      mayUse: (issuer) => context.mayUse(issuer, { url, connection }),
    });
    const isTaken = takesProofs || record?.needed?.takesProofs || record?.tokens?.key !== undefined;
    const isBound = isToBind(context, use, server, isTaken && !use.isBearer);
    allowServer(guard, server);
    const client = await clients.take(server, guard, signal);
    const scopes = scopesToAsk({
      challenged: record?.needed?.scopes,
      held: record?.tokens?.scopes,
      resourceScopes: scopesSupported,
      server,
    });
    const [state, verifier] = [newState(), newVerifier()];
    const redirect = redirectUrl.href;
    const authorizationUrl = await createSignIn({
      ...{ server, client, redirectUrl: redirect, scopes, resource, state, verifier },
    });
    const startedAt = now();
    const keptUntil = startedAt + 2 * signInMs;
    // So that there is one to sign out of. In a conflict there is one.
    if (record === undefined) await records.replace(grant, newGrant(use), keptUntil);
    const linked = sessionId ?? (await openChat(chat, record?.linkKey));
    const own = linked ?? record?.needed?.sessionId;
    const signIn = {
      ...{ version: 1 as const, url: url.href, connection, server, clientId: client.clientId },
      ...{ resource, redirectUrl: redirect, verifier, scopes },
      ...(own !== undefined && { sessionId: own }),
      ...(record?.signOuts !== undefined && { signOuts: record.signOuts }),
      ...(isBound && { isBound: true as const }),
      ...(use.returnUrl !== undefined && { returnUrl: use.returnUrl.href }),
      expiresAt: startedAt + signInMs,
    };
    // A state is never the same twice.
    const place = await records.signIn(principal, state);
    // Kept for longer than it counts, so that a late callback is told that it is late.
    await records.replace(place, signIn, keptUntil);
    return authorizationUrl;
  });
}
