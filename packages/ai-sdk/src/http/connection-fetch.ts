import { isRedirect } from "@durable-mcp/core/internal";
import type { OAuthClientProvider } from "@ai-sdk/mcp";
import { McpSessionError } from "@durable-mcp/core";
import type { ConnectionToken } from "../connection/client-connection-options.ts";
import type { ConnectionContext } from "../connection/connection-options.ts";
import type { McpClientConnection } from "../connection/define-connection.ts";
import { isHeaderValue } from "../connection/header-value.ts";
import { once } from "../base/once.ts";
import { scrubSecrets } from "../errors/scrub-secrets.ts";

type Fetch = typeof globalThis.fetch;

/** Sends a request to the server, with these headers instead of its own. */
type SendToServer = (
  input: RequestInfo | URL,
  init: RequestInit,
  headers: Headers,
) => Promise<Response>;

/** The fetches of one connection in one step: with its headers and its token. */
export interface ConnectionFetch {
  /** Adds them to requests to the connection's URL. */
  readonly fetch: Fetch;
  /** Adds them to all requests to its origin: the old HTTP+SSE transport posts to another path. */
  readonly fetchForOrigin: Fetch;
  /** The definition's headers, for a client that sets them itself. */
  readonly headers: () => Promise<Record<string, string>>;
  /** Has headers and token resolved anew, for another step. */
  readonly renew: () => void;
  /** The status of the last answer to an `initialize`; tells an old server from a failure. */
  readonly initializeStatus: number | undefined;
}

/**
 * Resolves the connection's headers and token once for the step. A 401 evicts the token, and the
 * request is sent once more with another.
 */
export function createConnectionFetch({
  definition: { options },
  context,
  authProvider,
  now,
}: {
  definition: McpClientConnection;
  context: ConnectionContext;
  /** Whose tokens go with requests that have no `Authorization` of their own. */
  authProvider: () => Promise<OAuthClientProvider | undefined>;
  now: () => number;
}): ConnectionFetch {
  const url = new URL(options.url);
  const startHeaders = () => once(() => resolveAll(options.headers ?? {}, context));
  const startTokens = () => options.auth && createTokenCache(options.auth.getToken, context, now);
  let resolveHeaders = startHeaders();
  let tokens = startTokens();
  let initializeStatus: number | undefined;

  const send: Fetch = (input, init) => (options.fetch ?? globalThis.fetch)(input, init);

  const sendToServer: SendToServer = async (input, init, headers) => {
    const ownHeaders = await resolveHeaders();
    for (const [name, value] of Object.entries(ownHeaders)) headers.set(name, value);
    const attempt = async (token: string | undefined) => {
      if (token !== undefined) headers.set("authorization", `Bearer ${token}`);
      // `fetch` would take the definition's headers along to another origin.
      const response = await send(input instanceof Request ? input.clone() : input, {
        ...init,
        headers,
        redirect: "manual",
      });
      if (isInitialize(init)) initializeStatus = response.status;
      if (init.redirect !== "manual" && isRedirect(response)) {
        await response.body?.cancel();
        throw redirectRefused(context.connection, url.origin, response.status);
      }
      const authorization = headers.get("authorization") ?? "";
      return await scrubAnswer(response, [authorization, ...Object.values(ownHeaders)]);
    };
    const cache = tokens;
    const token = await cache?.get();
    const response = await attempt(token);
    if (response.status !== 401 || cache === undefined || token === undefined) return response;
    cache.evict(token);
    if (init.body instanceof ReadableStream) return response;
    await response.body?.cancel();
    return await attempt(await cache.get());
  };

  const createFetch =
    (isForServer: (target: URL) => boolean, sendSigned: SendToServer): Fetch =>
    async (input, init = {}) => {
      const request = input instanceof Request ? input : undefined;
      const target = new URL(request?.url ?? (input as string | URL));
      if (target.origin !== url.origin) {
        if (options.fetch !== undefined) return await send(input, init);
        throw fetchRequired(context.connection, target.origin);
      }
      const headers = new Headers(init.headers ?? request?.headers);
      return await (isForServer(target) ? sendSigned(input, init, headers) : send(input, init));
    };

  const tokensOfProvider = async () => await (await authProvider())?.tokens();
  const sendWithTokens: SendToServer = async (input, init, headers) => {
    const isSigned = headers.has("authorization") || hasHeader(options.headers, "authorization");
    const issued = isSigned ? undefined : await ask("authProvider", context, tokensOfProvider);
    if (issued?.access_token) headers.set("authorization", `Bearer ${issued.access_token}`);
    return await sendToServer(input, init, headers);
  };

  return {
    fetch: createFetch(
      ({ pathname, search }) => pathname === url.pathname && search === url.search,
      sendWithTokens,
    ),
    // The client sets its tokens itself, and its OAuth requests, which may go to the same origin,
    // are to have none.
    fetchForOrigin: createFetch(() => true, sendToServer),
    headers: () => resolveHeaders(),
    renew() {
      resolveHeaders = startHeaders();
      tokens = startTokens();
    },
    get initializeStatus() {
      return initializeStatus;
    },
  };
}

/** All values of a definition's headers, for one principal. */
async function resolveAll(
  headers: NonNullable<McpClientConnection["options"]["headers"]>,
  context: ConnectionContext,
): Promise<Record<string, string>> {
  const entries = Object.entries(headers).map(async ([name, value]) => {
    const resolved: unknown =
      typeof value === "string"
        ? value
        : await ask(`headers.${name}`, context, () => value(context));
    if (isHeaderValue(resolved)) return [name, resolved] as const;
    throw new McpSessionError(
      "CONNECTION_INVALID",
      `Connection ${context.connection}: headers.${name} must return a string that is valid in a header.`,
      { data: { field: `headers.${name}`, connection: context.connection } },
    );
  });
  return Object.fromEntries(await Promise.all(entries));
}

/**
 * Asks a function of the application. Its failure must not look like one of the request, which has
 * not been sent: a network error of its own would make the outcome of a tool call unknown.
 */
async function ask<T>(
  field: string,
  { connection, abortSignal }: ConnectionContext,
  question: () => T | Promise<T>,
): Promise<T> {
  try {
    return await question();
  } catch (cause) {
    if (abortSignal.aborted || McpSessionError.isInstance(cause)) throw cause;
    throw new McpSessionError(
      "CONNECTION_UNAVAILABLE",
      `Connection ${connection}: ${field} failed; the cause says why. The request was not sent, and the next one asks again.`,
      { data: { field, connection }, cause },
    );
  }
}

/** A token this close to its end, in milliseconds, is not used any more. */
const expiryMarginMs = 10_000;

function createTokenCache(
  getToken: (context: ConnectionContext) => ConnectionToken | Promise<ConnectionToken>,
  context: ConnectionContext,
  now: () => number,
) {
  let current: Promise<ConnectionToken> | undefined;
  let value: ConnectionToken | undefined;

  const load = async () => {
    const loaded: unknown = await ask("auth.getToken", context, () => getToken(context));
    if (isToken(loaded)) return loaded;
    throw new McpSessionError(
      "CONNECTION_INVALID",
      `Connection ${context.connection}: auth.getToken must return { token: string, expiresAt?: number | Date }, the token valid in a header.`,
      { data: { field: "auth.getToken", connection: context.connection } },
    );
  };

  return {
    async get(): Promise<string> {
      if (value?.expiresAt != null && Number(value.expiresAt) - expiryMarginMs <= now()) {
        current = value = undefined;
      }
      const loading = (current ??= load());
      try {
        value = await loading;
        return value.token;
      } catch (error) {
        if (current === loading) current = undefined;
        throw error;
      }
    },
    /** Forgets a token that was refused, unless another has taken its place. */
    evict(token: string) {
      if (value?.token === token) current = value = undefined;
    },
  };
}

function isToken(value: unknown): value is ConnectionToken {
  const token = (value as ConnectionToken | null | undefined)?.token;
  return isHeaderValue(token) && token !== "";
}

function hasHeader(headers: object | undefined, name: string): boolean {
  return Object.keys(headers ?? {}).some((key) => key.toLowerCase() === name);
}

function isInitialize({ body }: RequestInit): boolean {
  return typeof body === "string" && body.includes('"method":"initialize"');
}

/** An answer that reports an error, without the secrets that the server may repeat in it. */
async function scrubAnswer(response: Response, secrets: readonly string[]): Promise<Response> {
  if (response.status < 400) return response;
  const text = scrubSecrets(await response.text(), secrets);
  const { status, statusText } = response;
  const headers = new Headers(response.headers);
  for (const name of ["content-encoding", "content-length"]) headers.delete(name);
  return new Response(text === "" ? null : text, { status, statusText, headers });
}

function redirectRefused(connection: string, origin: string, status: number): McpSessionError {
  return new McpSessionError(
    "REDIRECT_REFUSED",
    `Connection ${connection}: ${origin} answered with a redirect, which is not followed because it could carry credentials elsewhere. Use the server's final URL.`,
    { data: { connection, origin, status } },
  );
}

function fetchRequired(connection: string, origin: string): McpSessionError {
  return new McpSessionError(
    "FETCH_REQUIRED",
    `Connection ${connection}: a request to ${origin} was refused. Give the connection a \`fetch\` of your own, one that checks where requests go, to allow other origins (an authorization server, for example).`,
    { data: { connection, origin } },
  );
}
