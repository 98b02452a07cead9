import {
  bearerChallenge,
  isRedirect,
  isRedirectError,
  lastFetch,
  mayMention,
  refusalMode,
  rewriteRefusal,
  safeMethodIn,
  scrubSessionId,
  sendWithToken,
} from "@durable-mcp/core/internal";
import { once } from "../base/once.ts";
import { McpSessionError } from "@durable-mcp/core";
import type { ConnectionContext } from "../declare/connection-context.ts";
import type { RefusedToken } from "../declare/credential-options.ts";
import {
  connectTimeoutMs,
  type McpClientConnection,
  silenceMs,
} from "../declare/define-connection.ts";
import type { PausableLimits } from "./pausable-limits.ts";
import {
  type ConnectionSecrets,
  createConnectionSecrets,
  secretsOfUrl,
} from "./connection-secrets.ts";
import { authorizationRequired } from "../events/connection-error.ts";
import { ask, createCredentials, createOwnTime } from "./credentials.ts";
import { withNotedTokens } from "./noted-tokens.ts";

type Fetch = typeof globalThis.fetch;

/** Sends a request to the server, with these headers instead of its own. */
type Send = (
  input: Parameters<typeof globalThis.fetch>[0],
  init: RequestInit,
  headers: Headers,
) => Promise<Response>;

interface FetchUse {
  readonly now: () => number;
  /** Gets what is sent. */
  readonly secrets?: ConnectionSecrets | undefined;
  readonly sessionId?: string | undefined;
  readonly paused?: PausableLimits["paused"];
  /** Called before each request to the connection's URL, with the client's headers. */
  readonly onRequest?: (headers: Headers) => void;
  /** Called when the server has named a session in its answer to `initialize`. */
  readonly onSession?: () => void;
}

/**
 * The fetches of one connection in one step. Headers and token are resolved once for the step. After
 * a 401, or a 403 for lack of a scope, the request is sent once more if there is another token.
 */
// oxlint-disable-next-line max-lines-per-function -- its state, and functions of a few lines each
export function createConnectionFetch(
  options: McpClientConnection["options"],
  context: ConnectionContext,
  { now, secrets = createConnectionSecrets(), sessionId, paused, onRequest, onSession }: FetchUse,
) {
  const { connection } = context;
  const url = new URL(options.url);
  const resource = { url: url.href, sessionId };
  const inOwnTime = createOwnTime(context, connectTimeoutMs({ options }), paused);
  const credentials = createCredentials(options, context, resource, { now, inOwnTime });
  const authProvider = once(async () => {
    const { authProvider: own } = options;
    const given = typeof own === "function" ? await own(context) : own;
    return given && withNotedTokens(given, secrets);
  });
  /** The status of the last answer to an `initialize`; tells an old server from a failure. */
  let initializeStatus: number | undefined;
  secrets.add(...secretsOfUrl(url));
  const ownHeaders = once(async () => {
    const headers = await credentials.headers();
    secrets.add(...Object.values(headers));
    return headers;
  });

  const redirect = refusalMode(options.fetch);

  const send = lastFetch(options.fetch, silenceMs({ options }));

  const sendToServer: Send = async (input, init, headers) => {
    for (const [name, value] of Object.entries(await ownHeaders())) headers.set(name, value);
    const attempt = async ({ token, dpop }: Awaited<ReturnType<typeof credentials.token>>) => {
      const request = input instanceof Request ? input : undefined;
      const method = init.method ?? request?.method ?? "GET";
      const target = request?.url ?? new URL(input as string | URL).href;
      const isRepeatable = !(init.body instanceof ReadableStream);
      return await sendWithToken(
        { token, dpop, method, url: target, headers, isRepeatable },
        sendOnce,
      );
    };
    const sendOnce = async () => {
      const id = headers.get("mcp-session-id") ?? "";
      secrets.add(headers.get("authorization") ?? "", id);
      secrets.addProof(headers.get("dpop") ?? "");
      // `fetch` would send the definition's headers to another origin.
      const target = input instanceof Request ? input.clone() : input;
      let response;
      try {
        response = await send(target, { ...init, headers, redirect });
      } catch (error) {
        throw isRedirectError(error) ? redirectRefused(connection, url.origin) : error;
      }
      const { body } = init;
      const mayBegin = typeof body === "string" && mayMention(body, '"initialize"');
      if (mayBegin && safeMethodIn(body) === "initialize") {
        initializeStatus = response.status;
        if (response.ok && response.headers.has("mcp-session-id")) onSession?.();
      }
      if (init.redirect !== "manual") await refuseRedirect(response, connection, url.origin);
      // The session fetch reads of a loss where the id stood.
      return await rewriteRefusal(response, (text) => secrets.scrub(scrubSessionId(text, id)));
    };
    const sent = await credentials.token();
    const response = await attempt(sent);
    const refusal = refusalOf(response);
    if (refusal === undefined) return response;
    const other = await credentials.tokenAfter(sent, { ...refusal, token: sent.token });
    if (other === undefined || init.body instanceof ReadableStream) return response;
    await response.body?.cancel();
    const second = await attempt(other);
    const again = refusalOf(second);
    if (again?.status !== 401) return second;
    // It may have been revoked meanwhile. Where only the user can go on, its source says so.
    await credentials
      .tokenAfter(other, { ...again, token: other.token })
      .catch(async (error: unknown) => {
        if (authorizationRequired(error) === undefined) return;
        await second.body?.cancel();
        throw error;
      });
    return second;
  };

  const createFetch =
    (isForServer: (target: URL) => boolean, sendSigned: Send): Fetch =>
    async (input, init = {}) => {
      const request = input instanceof Request ? input : undefined;
      const target = new URL(request?.url ?? (input as string | URL));
      if (target.origin !== url.origin) {
        if (options.fetch !== undefined) return await send(input, init);
        throw fetchRequired(connection, target.origin);
      }
      const headers = new Headers(init.headers ?? request?.headers);
      return await (isForServer(target) ? sendSigned(input, init, headers) : send(input, init));
    };

  const isSignedByHeaders = async () => new Headers(await ownHeaders()).has("authorization");
  const tokensOfProvider = () =>
    ask("authProvider", context, async () => await (await authProvider())?.tokens());
  const sendWithTokens: Send = async (input, init, headers) => {
    onRequest?.(headers);
    const isSigned = headers.has("authorization") || (await isSignedByHeaders());
    const issued = isSigned ? undefined : await inOwnTime("authProvider", tokensOfProvider);
    if (issued?.access_token) headers.set("authorization", `Bearer ${issued.access_token}`);
    return await sendToServer(input, init, headers);
  };

  return {
    authProvider,
    /** For requests to the connection's URL. Tokens go with those without an `Authorization`. */
    fetch: createFetch(
      ({ pathname, search }) => pathname === url.pathname && search === url.search,
      sendWithTokens,
    ),
    // All requests to the origin, because the old HTTP+SSE transport posts to another path. The client
    // sets its tokens itself. Its OAuth requests may go to the same origin, and must have no token.
    fetchForOrigin: createFetch(() => true, sendToServer),
    /** The definition's headers, for a client that sets them itself. */
    headers: ownHeaders,
    /** Has asked for the token. */
    ready: async () => void (await credentials.token()),
    get initializeStatus() {
      return initializeStatus;
    },
  };
}

/** Why a server refused, if another token may help. */
function refusalOf({ status, headers }: Response): Omit<RefusedToken, "token"> | undefined {
  if (status !== 401 && status !== 403) return undefined;
  const challenge = bearerChallenge(headers);
  const isForToken = status === 401 || challenge?.error === "insufficient_scope";
  return isForToken ? { status, challenge } : undefined;
}

async function refuseRedirect(response: Response, connection: string, origin: string) {
  if (!isRedirect(response)) return;
  await response.body?.cancel();
  throw redirectRefused(connection, origin, response.status);
}

function redirectRefused(connection: string, origin: string, status?: number): McpSessionError {
  return new McpSessionError(
    "CONNECTION_UNAVAILABLE",
    `Connection ${connection}: ${origin} answered with a redirect. It is not followed, because it could carry credentials elsewhere. Use the server's final URL.`,
    { data: { reason: "redirect", connection, origin, ...(status !== undefined && { status }) } },
  );
}

function fetchRequired(connection: string, origin: string): McpSessionError {
  return new McpSessionError(
    "CONNECTION_UNAVAILABLE",
    `Connection ${connection}: a request to ${origin} was refused. To allow other origins, such as an authorization server, give the connection your own \`fetch\` that checks where requests go.`,
    { data: { reason: "other-origin", connection, origin } },
  );
}
