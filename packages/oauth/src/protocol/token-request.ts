import * as oauth from "oauth4webapi";
import { asServer, type AuthorizationServer } from "./authorization-server.ts";
import { authenticate, type Client, clientOf } from "./client.ts";
import type { TokenProof } from "@durable-mcp/core/internal";
import { isLoopbackUrl } from "./loopback-url.ts";
import {
  type RequestFailed,
  requestError,
  type Sending,
  sendRequest,
  type ServerAnswer,
} from "./server-request.ts";
import { errorWord, serverWords } from "./server-words.ts";
import { readTokens, type Tokens } from "./tokens.ts";

/** What a request for tokens brought. */
export type TokenOutcome =
  | { readonly type: "tokens"; readonly tokens: Tokens }
  /** The server's own words, such as `invalid_grant`: this code, token or client is of no more use there. */
  | { readonly type: "refused"; readonly error: string; readonly description: string }
  /** It says nothing about the code, token or client: 429, 5xx, a page, a broken connection. `sent` says how far it came. */
  | RequestFailed;

/** What binds new tokens to a key. */
export interface TokenBinding {
  readonly proof: TokenProof;
  /** Whether bearer tokens are refused. */
  readonly isRequired: boolean;
}

/** What all requests for tokens need. */
export interface TokenRequest extends Sending {
  readonly server: AuthorizationServer;
  readonly client: Client;
  /** The MCP server's identifier, from its discovery. */
  readonly resource: string;
  /** Binds the tokens to a key. @default bearer tokens */
  readonly dpop?: TokenBinding | undefined;
  /** @default Date.now */
  readonly now?: (() => number) | undefined;
}

/**
 * Exchanges a code for tokens: one request, whatever comes of it.
 *
 * @param parameters what `checkCallback` returned
 * @see https://www.rfc-editor.org/rfc/rfc6749#section-4.1.3
 * @see https://www.rfc-editor.org/rfc/rfc7636#section-4.5
 * @see https://www.rfc-editor.org/rfc/rfc8707#section-2.2
 */
export async function exchangeCode(
  request: TokenRequest & {
    readonly parameters: URLSearchParams;
    readonly redirectUrl: string;
    readonly verifier: string;
  },
): Promise<TokenOutcome> {
  const { parameters, redirectUrl, verifier, resource } = request;
  const secrets = [parameters.get("code"), parameters.get("state"), verifier];
  return await requestTokens(request, secrets, (server, client, auth, options) =>
    oauth.authorizationCodeGrantRequest(server, client, auth, parameters, redirectUrl, verifier, {
      ...options,
      additionalParameters: { resource },
    }),
  );
}

/**
 * Refreshes tokens: one request, whatever comes of it.
 *
 * @param request `scopes`, if the new token is to have fewer
 * @see https://www.rfc-editor.org/rfc/rfc6749#section-6
 * @see https://www.rfc-editor.org/rfc/rfc8707#section-2.2
 */
export async function refreshTokens(
  request: TokenRequest & {
    readonly refreshToken: string;
    readonly scopes?: readonly string[] | undefined;
  },
): Promise<TokenOutcome> {
  const { refreshToken } = request;
  return await requestTokens(request, [refreshToken], (server, client, auth, options) =>
    oauth.refreshTokenGrantRequest(server, client, auth, refreshToken, {
      ...options,
      additionalParameters: resourceAndScope(request),
    }),
  );
}

/**
 * Asks for tokens of the application itself: one request, whatever comes of it.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6749#section-4.4.2
 */
export async function requestClientCredentials(
  request: TokenRequest & { readonly scopes?: readonly string[] | undefined },
): Promise<TokenOutcome> {
  return await requestTokens(request, [], (server, client, auth, options) =>
    oauth.clientCredentialsGrantRequest(server, client, auth, resourceAndScope(request), options),
  );
}

export function resourceAndScope({
  resource,
  scopes = [],
}: {
  readonly resource: string;
  readonly scopes?: readonly string[] | undefined;
}): Record<string, string> {
  return { resource, ...(scopes.length > 0 && { scope: scopes.join(" ") }) };
}

type Send = (
  server: oauth.AuthorizationServer,
  client: oauth.Client,
  auth: oauth.ClientAuth,
  options: oauth.TokenEndpointRequestOptions,
) => Promise<Response>;

/** Sends a request for tokens, and reads what they are. */
export async function requestTokens(
  request: TokenRequest,
  sent: readonly (string | null)[],
  send: Send,
): Promise<TokenOutcome> {
  const { server, client, dpop, now = Date.now } = request;
  const sentAt = now();
  const answer = await askTokenEndpoint(request, sent, send);
  if (answer.type !== "answer") return answer;
  const binding = dpop ? (dpop.isRequired ? "required" : "possible") : "none";
  const tokens = await readTokens(answer, { server, client, sentAt, binding });
  if (!("wrong" in tokens)) return { type: "tokens", tokens };
  return wrongAnswer(request, answer, tokens.wrong);
}

/** An answer with status 200 that holds none of what it should. */
export function wrongAnswer(
  { server }: Pick<TokenRequest, "server">,
  { status }: ServerAnswer,
  wrong: string,
): RequestFailed {
  const name = { method: "POST", url: new URL(server.token_endpoint) } as const;
  const error = requestError(name, `${wrong}. The server has to be fixed.`, { status });
  return { type: "failed", sent: "perhaps", error };
}

/** One request to a token endpoint. @returns its answer, if it has the status 200 and no error */
export async function askTokenEndpoint(
  { server, client, fetch, signal, dpop }: Omit<TokenRequest, "resource">,
  sent: readonly (string | null)[],
  send: Send,
): Promise<ServerAnswer | Exclude<TokenOutcome, { type: "tokens" }>> {
  const name = { method: "POST", url: new URL(server.token_endpoint) } as const;
  const sendOnce = (header?: string) =>
    sendRequest(name, { fetch: proving(fetch, header), signal }, (customFetch, limit) =>
      send(asServer(server), clientOf(client), authenticate(client), {
        [oauth.customFetch]: customFetch,
        [oauth.allowInsecureRequests]: isLoopbackUrl(name.url),
        ...(limit !== undefined && { signal: limit }),
      }),
    );
  const sendProven = async (wanted?: string) => {
    const one = { method: "POST", url: server.token_endpoint, nonce: wanted };
    const proof = await dpop?.proof.prove(one);
    const given = await sendOnce(proof?.header);
    const nonce = (given.type === "answer" && given.dpopNonce) || undefined;
    return { given, nonce, isNew: nonce !== undefined && (await proof?.takeNonce(nonce)) };
  };
  const first = await sendProven();
  const { given } = first;
  const isWanted = given.type === "answer" && given.json?.["error"] === "use_dpop_nonce";
  // Nothing was done: neither a code nor a refresh token is used.
  const answer = isWanted && first.isNew ? (await sendProven(first.nonce)).given : given;
  if (answer.type === "failed") return answer;

  const { status, json } = answer;
  const secrets = [...sent.filter((secret) => secret !== null), client.secret];
  const error = errorWord(json?.["error"], secrets);
  if (error !== undefined && isRefusal(status, error)) {
    return {
      type: "refused",
      error,
      description: serverWords(json?.["error_description"], secrets),
    };
  }
  if (status !== 200) {
    const said = status === 429 ? "has too many requests" : "did not say why";
    const seconds = /^\d{1,6}$/.exec(answer.retryAfter ?? "")?.[0];
    const when = seconds === undefined ? "later" : `later, in ${seconds} seconds`;
    const why = `the authorization server gave no tokens, and ${said}. Try again ${when}.`;
    // Words of the specification are the server's own.
    const isOwn = error !== undefined && (ofServer.test(error) || ofGrant.test(error));
    const wasSent = (answer.isUncertain && !isOwn) || status < 400 ? "perhaps" : "answered";
    return { type: "failed", sent: wasSent, error: requestError(name, why, { status }) };
  }
  return answer;
}

/** Puts a proof into the request. @see https://www.rfc-editor.org/rfc/rfc9449#section-5 */
function proving(
  fetch: typeof globalThis.fetch,
  header: string | undefined,
): typeof globalThis.fetch {
  if (header === undefined) return fetch;
  return async (input, init) => {
    const headers = new Headers(init?.headers);
    headers.set("dpop", header);
    return await fetch(input, { ...init, headers });
  };
}

/** Words for a server that is not well. They say nothing about what was sent. */
const ofServer = /^(?:server_error|temporarily_unavailable|slow_down|rate_limit\w*|too_many_\w+)$/;

/** The words of the specification for a grant or client that is no good. */
const ofGrant =
  /^(?:invalid_grant|invalid_client|unauthorized_client|unsupported_grant_type|invalid_scope|invalid_target|access_denied)$/;

/**
 * Whether an answer refuses the code, token or client. Auth0 says so with a 403, GitHub with a 200.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6749#section-5.2
 */
function isRefusal(status: number, error: string): boolean {
  if (status === 403) return ofGrant.test(error);
  return [200, 400, 401].includes(status) && !ofServer.test(error);
}
