import { McpSessionError } from "@durable-mcp/core";
import { isLost, isRecord } from "@durable-mcp/core/internal";
import { inEnvelopes, type NotingClient } from "../connection/call-envelope.ts";
import {
  answerElicitations,
  answerRefusals,
  clientDescription,
  needsListening,
} from "../connection/client-capabilities.ts";
import type { ConnectionContext } from "../declare/connection-context.ts";
import { clientOpener, isStateful } from "../declare/define-connection.ts";
import type { LiveConnection } from "../connection/live-connection.ts";
import { withSessionErrors } from "../events/client-errors.ts";
import { restoreSessionError } from "../events/connection-error.ts";
import { addTraceContext, withTraceContext } from "../events/connection-telemetry.ts";
import type { ClientPipe, HttpParts } from "./http-parts.ts";
import { openingEnvelopes, readingEnvelopes } from "./open-envelopes.ts";
import { probeServer } from "./probe-server.ts";
import {
  connectSessionClient,
  isOfGate,
  RefusedRequest,
  type SessionClientParts,
} from "./session-client.ts";

type Fetch = typeof globalThis.fetch;

interface ClientUse {
  readonly context: ConnectionContext;
  /** `undefined` leaves everything to the client. */
  readonly fetch: Fetch | undefined;
  /** Headers that the client sets itself, if no fetch of ours does. */
  readonly headers?: Record<string, string> | undefined;
  /** @default the time for a handshake, and for `session.onStart` */
  readonly inTime?: LiveConnection["inConnectTime"];
}

/** Opens a client on a connection's server. @param type `"sse"` is the old HTTP+SSE transport */
export async function openClient(
  { definition, inConnectTime, callLimits, connectionFetch, url }: HttpParts,
  type: "http" | "sse",
  { context, fetch, headers, inTime = inConnectTime }: ClientUse,
): Promise<NotingClient> {
  const authProvider = await connectionFetch.authProvider();
  const { options } = definition;
  const { href } = new URL(url);
  const description = clientDescription(options);
  const opener = definition[clientOpener];
  const client = await inTime(context.abortSignal, (signal) =>
    opener.createClient({
      transport: { type, url: href, headers, authProvider, fetch },
      ...description,
      ...answerElicitations(options, context, callLimits),
      signal,
    }),
  );
  return fetch === undefined ? client : inEnvelopes(client);
}

/**
 * Opens a small client of our own on the connection's session. Of a server that has none it gives the answer to the
 * probe, for a client that goes on with it.
 */
async function openOwnClient(
  { definition, inHandshakeTime, context, slot, url, telemetry, secrets: { scrub } }: HttpParts,
  { fetch, send }: Required<ClientPipe>,
): Promise<NotingClient | Response> {
  const { createError } = definition[clientOpener];
  const probed = { url: new URL(url).href, fetch };
  const parts: SessionClientParts = {
    ...{ createError: createError!, scrub },
    send: (message, request) => send(addTraceContext(message, telemetry), request),
  };
  const description = clientDescription(definition.options);
  return await inHandshakeTime(context.abortSignal, async (signal) => {
    const config = { ...description, signal };
    const isKnown = slot?.snapshot?.kind === "session";
    const answer = isKnown ? undefined : await probeServer(probed, config);
    return answer ?? (await connectSessionClient(parts, config));
  });
}

/** A fetch for a client that begins with a probe, which has been answered. */
function withProbed(fetch: Fetch, answer: Response): Fetch {
  let probed: Response | undefined = answer;
  return async (input, init) => {
    const request = probed && parse(init?.body);
    if (request?.["method"] !== "server/discover") return await fetch(input, init);
    const { status, headers } = probed!;
    const body = await probed!.text();
    probed = undefined;
    const message = parse(body);
    const own = message?.["id"] === undefined ? message : { ...message, id: request["id"] };
    return new Response(own ? JSON.stringify(own) : body || null, { status, headers });
  };
}

/** Without a fetch `@ai-sdk/mcp` checks the hosts of OAuth requests itself. Nobody opens envelopes then. */
export function isLeftToClient({ definition, slot }: HttpParts, isPausing: boolean): boolean {
  const { authProvider, fetch } = definition.options;
  const isOurs = slot !== undefined || isPausing;
  return !isOurs && authProvider !== undefined && fetch === undefined;
}

/**
 * Whether a small client of our own does for the connection's session. Where it has to log in, or to hear what the
 * server says between calls, a framework's client is needed.
 */
export function isOwnSession({ definition, slot }: HttpParts): boolean {
  const { options } = definition;
  if (!isStateful(definition) || slot === undefined) return false;
  if (slot.snapshot?.kind === "stateless") return false;
  if (options.authProvider !== undefined || needsListening(options)) return false;
  return definition[clientOpener].createError !== undefined;
}

/**
 * Opens the connection's own client: over the old HTTP+SSE transport, if the server only knows that.
 *
 * @throws {McpSessionError} the reason why there is no client
 */
export async function connectClient(
  parts: HttpParts,
  takePipe: () => ClientPipe,
  { isPausing, isOwn }: { readonly isPausing: boolean; readonly isOwn: boolean },
): Promise<NotingClient> {
  const { definition, context, slot, connectionFetch, telemetry, emit } = parts;
  const { connection } = context;
  const { headers, authProvider } = definition.options;
  const isLeft = isLeftToClient(parts, isPausing);
  const pipe = isLeft ? undefined : takePipe();
  const hasLogin = authProvider !== undefined;
  const fetch = pipe && withTraceContext(withRefusals(pipe.fetch, { hasLogin }), telemetry);
  const sseFetch = () =>
    readingEnvelopes(
      openingEnvelopes(withTraceContext(connectionFetch.fetchForOrigin, telemetry)),
      {
        scrub: parts.secrets.scrub,
        reads: (isFollowed) => !isFollowed,
        answersInPlace: false,
      },
    );

  const isOldServer = (error: unknown) => {
    if (isLeft) return isOldServerStatus((error as { statusCode?: unknown } | null)?.statusCode);
    const { snapshot } = slot ?? {};
    const known =
      isStateful(definition) && snapshot !== undefined && snapshot.kind !== "sessionless";
    // A session of this step says that the server speaks Streamable HTTP. One lost before may be outdated.
    const isUnknown = !known && (!isLost(snapshot) || parts.isAfterLoss);
    const isOwnError = McpSessionError.isInstance(restoreSessionError(error, connection, slot));
    return isUnknown && !isOwnError && isOldServerStatus(connectionFetch.initializeStatus);
  };

  try {
    // The session fetch has a limit for the handshake, which would count the time for a token as the server's.
    if (slot?.snapshot === undefined || isLost(slot.snapshot)) await connectionFetch.ready();
    const use = {
      ...{ context, inTime: parts.inHandshakeTime },
      headers: isLeft && headers ? await connectionFetch.headers() : undefined,
    };
    const open = async () => {
      const own = isOwn
        ? await openOwnClient(parts, { fetch: fetch!, send: pipe!.send! })
        : undefined;
      if (own && !(own instanceof Response)) return own;
      const known = own ? withProbed(fetch!, own) : fetch;
      return await openClient(parts, "http", { ...use, fetch: known });
    };
    const client = await open().catch(async (error: unknown) => {
      if (context.abortSignal.aborted || !isOldServer(error)) throw error;
      // When the second attempt fails too, the first one's error says more.
      const other = { ...use, fetch: isLeft ? undefined : sseFetch() };
      const old = await openClient(parts, "sse", other).catch(() => {
        throw error;
      });
      emit({ type: "sse-fallback", connection });
      return old;
    });
    return withSessionErrors(
      client,
      parts.restoreError,
      parts.secrets,
      answerRefusals(definition.options, context, parts.callLimits),
    );
  } catch (error) {
    throw parts.unavailable(error);
  }
}

/** Whether it is one of the statuses with which an old server answers the POST of `initialize`. */
function isOldServerStatus(status: unknown): boolean {
  return status === 400 || status === 404 || status === 405;
}

/**
 * The fetch of one client, which throws when a request is refused. `@ai-sdk/mcp` takes a JSON-RPC error in
 * the body of a refusal for the server's own answer, and forgets the status. Errors of 5xx that name the
 * request are the server's own.
 *
 * @param options.hasLogin whether the client logs in after the first 401 to a request
 */
function withRefusals(fetch: Fetch, { hasLogin }: { hasLogin: boolean }): Fetch {
  const refusedOnce = new Set<unknown>();
  return async (input, init) => {
    const response = await fetch(input, init);
    const { status } = response;
    if (!isOfGate(status) && status < 500) return response;
    const request = parse(init?.body);
    if (request?.["id"] === undefined || request["method"] === "server/discover") return response;
    if (status === 401 && hasLogin && !refusedOnce.has(request["id"])) {
      refusedOnce.add(request["id"]);
      return response;
    }
    const body = await response.text();
    const answer = parse(body);
    const isAnswer = isRecord(answer?.["error"]) && (isOfGate(status) || answer["id"] == null);
    if (isAnswer) throw new RefusedRequest(status, body);
    return new Response(body === "" ? null : body, response);
  };
}

function parse(text: unknown): Record<string, unknown> | undefined {
  if (typeof text !== "string") return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
