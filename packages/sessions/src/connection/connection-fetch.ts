import { lastFetch } from "@durable-mcp/core/internal";
import { once } from "../base/once.ts";
import { McpSessionError } from "@durable-mcp/core";
import type { ConnectionContext } from "../declare/connection-context.ts";
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
import { ask, createCredentials, createOwnTime } from "./credentials.ts";
import { withNotedTokens } from "./noted-tokens.ts";
import { createServerSender, type Send } from "./server-sender.ts";

type Fetch = typeof globalThis.fetch;

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

/** The fetches of one connection in one step. Headers and token are resolved once for the step. */
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
  secrets.add(...secretsOfUrl(url));
  const ownHeaders = once(async () => {
    const headers = await credentials.headers();
    secrets.add(...Object.values(headers));
    return headers;
  });

  const send = lastFetch(options.fetch, silenceMs({ options }));
  const server = createServerSender(context.connection, options, {
    ...{ credentials, ownHeaders, secrets, send, onSession },
  });

  const createFetch =
    (isForServer: (target: URL) => boolean, sendSigned: Send): Fetch =>
    async (input, init = {}) => {
      const request = input instanceof Request ? input : undefined;
      const target = input === url.href ? url : new URL(request?.url ?? (input as string | URL));
      if (target.origin !== url.origin) {
        if (options.fetch !== undefined) return await send(input, init);
        throw fetchRequired(connection, target.origin);
      }
      const headers = new Headers(init.headers ?? request?.headers);
      return await (isForServer(target) ? sendSigned(input, init, headers) : send(input, init));
    };

  const isSigned = async (headers: Headers) =>
    headers.has("authorization") || new Headers(await ownHeaders()).has("authorization");
  const tokensOfProvider = () =>
    ask("authProvider", context, async () => await (await authProvider())?.tokens());
  const sendWithTokens: Send = async (input, init, headers) => {
    onRequest?.(headers);
    const isReady = options.authProvider === undefined || (await isSigned(headers));
    const issued = isReady ? undefined : await inOwnTime("authProvider", tokensOfProvider);
    if (issued?.access_token) headers.set("authorization", `Bearer ${issued.access_token}`);
    return await server.send(input, init, headers);
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
    fetchForOrigin: createFetch(() => true, server.send),
    /** The definition's headers, for a client that sets them itself. */
    headers: ownHeaders,
    /** Has asked for the token. */
    ready: async () => void (await credentials.token()),
    get initializeStatus() {
      return server.initializeStatus();
    },
  };
}

function fetchRequired(connection: string, origin: string): McpSessionError {
  return new McpSessionError(
    "CONNECTION_UNAVAILABLE",
    `Connection ${connection}: a request to ${origin} was refused. To allow other origins, such as an authorization server, give the connection your own \`fetch\` that checks where requests go.`,
    { data: { reason: "other-origin", connection, origin } },
  );
}
