import { McpSessionError, type Principal } from "@durable-mcp/core";
import {
  bearerChallenge,
  lastFetch,
  refusingRedirects,
  rewriteRefusal,
  createScrubber,
  sendWithToken,
  type TokenProof,
} from "@durable-mcp/core/internal";
import type { RefusedToken } from "./base/refused-token.ts";
import type { ResourceUse } from "./grants/authorization-required.ts";
import { getToken } from "./grants/get-token.ts";
import { proofOf } from "./grants/token-binding.ts";
import { checkOwner } from "./base/token-owner.ts";
import type { OAuthContext } from "./grants/oauth-context.ts";
import { resourceIdOf } from "./records/resource-id.ts";

/** The use of `oauth.connect`. */
export interface ConnectUse {
  readonly principal: Principal;
  /** The URL of the MCP server. Tokens go nowhere else. */
  readonly url: string | URL;
  /** Your name of the server, for `signOut` and `list`. @default the host of its URL */
  readonly connection?: string | undefined;
  /** The agent session, for `onSignedIn`. */
  readonly sessionId?: string | undefined;
  /** Sends the requests, with the token. @default globalThis.fetch */
  readonly fetch?: typeof globalThis.fetch | undefined;
}

/**
 * Sign-in for any MCP client; `fetch` is all that it needs. Some clients wrap the error of a `fetch`: follow its `cause`
 * to the first that `McpSessionError.isInstance` knows.
 *
 * @example
 * const { fetch } = oauth.connect({ principal, url });
 * await createMCPClient({ transport: { type: "http", url, fetch } });
 */
export interface OAuthConnection {
  /**
   * Adds the stored token. After a 401, or a 403 for lack of a scope, it sends once more, with another token. Throws
   * `AUTHORIZATION_REQUIRED` if the user has to sign in, before a client can begin a sign-in of its own.
   */
  readonly fetch: typeof globalThis.fetch;
  /**
   * For code that needs an `authProvider`. Pass `fetch` as well: only `fetch` renews tokens. The provider holds no
   * refresh token, and ends each sign-in of the client's own before its first request to an authorization server.
   */
  readonly authProvider: OAuthClientProvider;
}

/** A token, with what proves its key. */
interface Given {
  readonly token?: string | undefined;
  readonly dpop?: TokenProof | undefined;
}

/** The client's sign-in ends where it calls one of these. */
type OwnSignIn = () => Promise<never>;

/**
 * The `OAuthClientProvider` of `@ai-sdk/mcp` 2, SDK v1 and client v2. Only `tokens` works; the other functions reject,
 * which ends a client's own sign-in.
 */
export interface OAuthClientProvider {
  readonly redirectUrl: string;
  readonly clientMetadata: { readonly redirect_uris: string[] };
  /** The principal's token, refreshed if needed; `undefined` without a sign-in, and for one that is bound to a key. */
  readonly tokens: () => Promise<{ access_token: string; token_type: "Bearer" } | undefined>;
  readonly discoveryState: OwnSignIn;
  readonly validateResourceURL: OwnSignIn;
  readonly clientInformation: OwnSignIn;
  readonly saveTokens: OwnSignIn;
  readonly saveCodeVerifier: OwnSignIn;
  readonly codeVerifier: OwnSignIn;
  readonly redirectToAuthorization: OwnSignIn;
}

/** @throws {McpSessionError} `CONNECTION_INVALID`, `PRINCIPAL_REQUIRED` */
export function connectTo(context: OAuthContext, use: ConnectUse): OAuthConnection {
  const { principal, sessionId } = use;
  const base = lastFetch(use.fetch);
  checkOwner(principal);
  const url = new URL(use.url);
  const connection = use.connection ?? url.host;
  const unredirected = refusingRedirects(connection, url, use.fetch);
  const ask = async (refused?: RefusedToken, signal?: AbortSignal | null) => {
    const resourceId = await resourceIdOf(url);
    const own: ResourceUse = { principal, connection, url, resourceId, sessionId };
    const tokens = await getToken(context, { ...own, refused, signal: signal ?? undefined });
    return tokens && { token: tokens.accessToken, dpop: proofOf(context, own, tokens) };
  };

  const fetch: typeof globalThis.fetch = async (input, init) => {
    const request = input instanceof Request ? input : undefined;
    const target = new URL(request?.url ?? (input as string | URL));
    if (target.origin !== url.origin) throw otherOrigin(connection, target.origin);
    const signal = init?.signal ?? request?.signal;
    const send = async ({ token, dpop }: Given = {}) => {
      const headers = new Headers(init?.headers ?? request?.headers);
      headers.delete("authorization");
      const method = init?.method ?? request?.method ?? "GET";
      const isRepeatable = !(init?.body instanceof ReadableStream);
      const sending = { token, dpop, method, url: target.href, headers, isRepeatable };
      const sendOnce = () =>
        unredirected((redirect) =>
          base(request?.clone() ?? target, { ...init, headers, redirect }),
        );
      const response = await sendWithToken(sending, sendOnce);
      // A server may repeat the token where it refuses it, and clients put that into their errors.
      const secrets = [token, headers.get("dpop")].filter((secret) => secret != null);
      const scrub = createScrubber(secrets, "[removed]");
      return await rewriteRefusal(response, scrub);
    };
    // Whatever else there is at this origin gets no token.
    if (target.pathname !== url.pathname) return await send();
    const given = await ask(undefined, signal);
    const response = await send(given);
    const refused = refusalOf(response, given?.token);
    if (refused === undefined || init?.body instanceof ReadableStream) return response;
    const other = await ask(refused, signal).catch(letGoAndThrow(response));
    if (other === undefined || other.token === given?.token) return response;
    await response.body?.cancel();
    const second = await send(other);
    const again = refusalOf(second, other.token);
    if (again === undefined) return second;
    // Where it was revoked meanwhile the user has to sign in. No other error says more than this refusal.
    return await ask(again, signal).then(
      () => second,
      async (error: unknown) =>
        McpSessionError.isInstance(error) && error.code !== "AUTHORIZATION_REQUIRED"
          ? second
          : await letGoAndThrow(second)(error),
    );
  };
  return { fetch, authProvider: createAuthProvider(ask, { connection, url }) };
}

const letGoAndThrow = (response: Response) => async (error: unknown) => {
  await response.body?.cancel();
  throw error;
};

/** Why a token was refused, if another one may help. */
function refusalOf(response: Response, token: string | undefined): RefusedToken | undefined {
  const { status, headers } = response;
  const challenge = bearerChallenge(headers);
  const isForScopes = status === 403 && challenge?.error === "insufficient_scope";
  if (status !== 401 && !isForScopes) return undefined;
  return { token, status: status === 401 ? 401 : 403, challenge };
}

function createAuthProvider(
  ask: (refused?: RefusedToken) => Promise<Given | undefined>,
  { connection, url }: { readonly connection: string; readonly url: URL },
): OAuthClientProvider {
  let given: string | undefined;
  const ownSignIn = async () => {
    // It throws where the user has to sign in.
    await ask({ status: 401, token: given });
    throw new McpSessionError(
      "CONNECTION_UNAVAILABLE",
      `Connection ${connection}: ${url.origin} refused the token, and the client began a sign-in of its own. Pass the \`fetch\` of \`connect\` as well, which renews tokens. If the client has it, the server takes none of them. Nothing was carried out.`,
      { data: { connection, origin: url.origin, reason: "authorization-required" } },
    );
  };
  return {
    redirectUrl: "",
    clientMetadata: { redirect_uris: [] },
    async tokens() {
      const { token, dpop } = (await ask()) ?? {};
      given = token;
      // Its client would send it bare. `fetch` sends the proofs.
      if (token === undefined || dpop !== undefined) return undefined;
      return { access_token: token, token_type: "Bearer" };
    },
    discoveryState: ownSignIn,
    validateResourceURL: ownSignIn,
    clientInformation: ownSignIn,
    saveTokens: ownSignIn,
    saveCodeVerifier: ownSignIn,
    codeVerifier: ownSignIn,
    redirectToAuthorization: ownSignIn,
  };
}

function otherOrigin(connection: string, origin: string): McpSessionError {
  return new McpSessionError(
    "CONNECTION_UNAVAILABLE",
    `Connection ${connection}: a request to ${origin} was refused. This fetch only sends to the MCP server; the sign-in makes its own requests.`,
    { data: { reason: "other-origin", connection, origin } },
  );
}
