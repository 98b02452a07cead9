import type { MCPClient } from "@ai-sdk/mcp";
import { endSession, McpSessionError, type SessionEvent } from "@durable-mcp/core";
import { isLost, scrubJson } from "@durable-mcp/core/internal";
import { isStateful, sessionOptions } from "../connection/define-connection.ts";
import type { LiveConnection } from "../connection/live-connection.ts";
import type { ConnectionState } from "../connection/connection-management.ts";
import { createSharedClient } from "../connection/shared-client.ts";
import { createLossNotices } from "../connection/loss-notice.ts";
import { withSessionErrors } from "../events/client-errors.ts";
import {
  authorizationRequired,
  isRegistryDisposed,
  restoreSessionError,
} from "../events/connection-error.ts";
import { tellIfUnavailable } from "../events/connection-error.ts";
import { withTraceContext } from "../events/connection-telemetry.ts";
import { watchCapabilities } from "./watch-capabilities.ts";
import { takeProgress } from "../connection/call-envelope.ts";
import { ask, probe } from "./ask-server.ts";
import { createFetchSource, createPausing, type TakeFetch } from "./client-fetches.ts";
import { manageHttp } from "./manage-http.ts";
import { isOldServerStatus, openClient } from "./open-client.ts";
import { openingEnvelopes, readingEnvelopes } from "./open-envelopes.ts";
import { withRefusals } from "./refused-requests.ts";
import { createHttpParts, type HttpConnectionOptions, type HttpParts } from "./stateful-fetch.ts";

/** One connection over HTTP, until its context's signal aborts. Sends nothing yet. */
export function createHttpConnection(options: HttpConnectionOptions): LiveConnection {
  const parts = createHttpParts(options);
  const { definition, context, slot, exceptSlot, connectionFetch, trace } = parts;
  const name = context.connection;
  const slots = [slot, exceptSlot].filter((each) => each !== undefined);

  const client = createSharedClient(parts, () =>
    trace({ operation: "connect" }, async (note) => {
      const connected = await connectClient(parts, takeFetch, pausing !== undefined);
      note({ protocolVersion: connected.initializeResult.protocolVersion });
      return connected;
    }),
  );
  const capabilities = watchCapabilities(parts);
  const onEvent = (event: SessionEvent) => {
    if (isOtherServer(event, client.inspect())) client.replace();
    if (takesProgress(parts, event)) return;
    parts.emit({ ...withoutSecrets(parts, event), connection: name });
    capabilities.note(event);
  };
  const pausing = createPausing(parts);
  const takeFetch = createFetchSource(parts, onEvent, pausing);
  const probeNow = (signal: AbortSignal) => probe(parts, client, takeFetch, signal);
  const tell = (error: unknown) => {
    // The end of the step says nothing about the server, but a use after it is a mistake.
    if (context.abortSignal.aborted && !isRegistryDisposed(error as object)) return;
    tellIfUnavailable(parts.emit, name, error);
  };
  const connection: LiveConnection = {
    name,
    definition,
    origin: parts.origin,
    session: isStateful(definition) ? "stateful" : "stateless",
    principal: context.principal,
    abortSignal: context.abortSignal,
    sessionId: parts.sessionId,
    trace,
    inConnectTime: parts.inConnectTime,
    emit: parts.emit,
    lossNotices: isStateful(definition)
      ? createLossNotices(slots, sessionOptions(definition).lossNotice)
      : undefined,
    pausing,
    takesEnvelopes: !isLeftToClient(parts, pausing !== undefined),
    toolNow: parts.toolNow,
    createFetch: ({ isTraced = false } = {}) =>
      isTraced ? withTraceContext(takeFetch(), parts.telemetry) : takeFetch(),
    async client() {
      try {
        return await client.get();
      } catch (error) {
        tell(error);
        throw error;
      }
    },
    withKept: (open) => client.noting(() => open(connection)),
    withRecovery: recovering(parts),
    probe: probeNow,
    ask: (signal) => ask(parts, takeFetch, signal),
    restoreError: parts.restoreError,
    credentials: connectionFetch.credentials,
    tell,
    noteRun: client.noteRun,
    noteClosed: client.noteClosed,
    keptAs: parts.keptAs,
    manage: manageHttp(parts, client, probeNow),
    openings: client.openings,
    async settle() {
      await Promise.all(slots.map((each) => each.settle()));
    },
    async endLooseSessions() {
      await Promise.all([endLoose(parts), capabilities.ended()]);
    },
  };
  return connection;
}

/** Whether the client's knowledge of the server is outdated after an event of its session. */
function isOtherServer(event: SessionEvent, { connected, protocolVersion }: ConnectionState) {
  const isNew = event.type === "started" || event.type === "stateless";
  // The server may have had no sessions between a lost one and this one.
  const isOther = event.type === "recovered" && event.protocolVersion !== protocolVersion;
  return ("changed" in event && event.changed === true) || (connected && (isNew || isOther));
}

/**
 * The session fetch recovers, but for a client of other revisions: nothing has handled its request, so the attempt is
 * made again. Before a call the token is asked for: the wait for it is not the server's silence.
 */
function recovering({ connectionFetch, restoreError }: HttpParts): LiveConnection["withRecovery"] {
  return async (tool, attempt) => {
    try {
      if (tool !== undefined) await connectionFetch.ready();
    } catch (error) {
      // What waits for a sign-in may need no token.
      if (authorizationRequired(error) === undefined) throw error;
    }
    return await attempt().catch(async (error: unknown) => {
      const { code, data } = restoreError(error) as Partial<McpSessionError>;
      if (code !== "ERA_UNSUPPORTED" || data?.method === "initialize") throw error;
      return await attempt();
    });
  };
}

async function endLoose({ url, slot, exceptSlot, connectionFetch: { fetch } }: HttpParts) {
  const loose = [slot?.unfinished, exceptSlot?.unfinished, exceptSlot?.snapshot];
  await Promise.all(
    loose.map(async (snapshot) => {
      if (snapshot) await endSession({ url, snapshot, fetch });
    }),
  );
}

/** Whether an event was the progress of a call that somebody follows. */
function takesProgress({ connectionFetch }: HttpParts, event: SessionEvent): boolean {
  if (event.type !== "notification") return false;
  return takeProgress(event.method, event.params, connectionFetch.scrub);
}

/** The event without what the server repeats of the connection's secrets. */
function withoutSecrets({ connectionFetch }: HttpParts, event: SessionEvent): SessionEvent {
  if (event.type !== "notification") return event;
  return {
    ...event,
    params: scrubJson(event.params, connectionFetch.scrub) as typeof event.params,
  };
}

/** Without a fetch `@ai-sdk/mcp` checks the hosts of OAuth requests itself. Nobody opens envelopes then. */
function isLeftToClient({ definition, slot }: HttpParts, isPausing: boolean): boolean {
  const { authProvider, fetch } = definition.options;
  const isOurs = slot !== undefined || isPausing;
  return !isOurs && authProvider !== undefined && fetch === undefined;
}

/** The first revision in which a server asks with an answer, which can wait. */
const firstStatelessVersion = "2026-07-28";

/** @throws {McpSessionError} the reason why there is no client */
async function connectClient(
  parts: HttpParts,
  takeFetch: TakeFetch,
  isPausing: boolean,
): Promise<MCPClient> {
  const { definition, context, slot, connectionFetch, telemetry, emit } = parts;
  const { connection } = context;
  const { headers, authProvider } = definition.options;
  const isLeft = isLeftToClient(parts, isPausing);
  const mayHaveSession = isStateful(definition);
  const ownFetch = () => {
    const hasLogin = authProvider !== undefined;
    return withTraceContext(withRefusals(takeFetch(), { hasLogin }), telemetry);
  };
  const clientFetch = isLeft ? undefined : ownFetch();

  const isOldServer = (error: unknown) => {
    if (isLeft) {
      return isOldServerStatus((error as { statusCode?: unknown } | null)?.statusCode);
    }
    const { initializeStatus } = connectionFetch;
    const { snapshot } = slot ?? {};
    const known = mayHaveSession && snapshot !== undefined && snapshot.kind !== "sessionless";
    // A session of this step says that the server speaks Streamable HTTP. One lost before may be outdated.
    const isUnknown = !known && (!isLost(snapshot) || parts.isAfterLoss);
    const isOwnError = McpSessionError.isInstance(restoreSessionError(error, connection, slot));
    return isUnknown && !isOwnError && isOldServerStatus(initializeStatus);
  };

  try {
    // The session fetch has a limit for the handshake, which would count the time for a token as the server's.
    if (slot?.snapshot === undefined || isLost(slot.snapshot)) await connectionFetch.ready();
    const client = await openClient({
      definition,
      context,
      inConnectTime: parts.inHandshakeTime,
      fetch: clientFetch,
      sseFetch:
        clientFetch &&
        readingEnvelopes(
          openingEnvelopes(withTraceContext(connectionFetch.fetchForOrigin, telemetry)),
          {
            scrub: connectionFetch.scrub,
            reads: (isFollowed) => !isFollowed,
            answersInPlace: false,
          },
        ),
      headers: async () => (clientFetch || !headers ? undefined : await connectionFetch.headers()),
      authProvider: connectionFetch.authProvider,
      isOldServer,
      onSseFallback: () => emit({ type: "sse-fallback", connection }),
    });
    const { protocolVersion } = client.initializeResult;
    if (isPausing && protocolVersion < firstStatelessVersion) {
      emit({ type: "cannot-wait", connection, protocolVersion });
    }
    return withSessionErrors(client, parts.restoreError);
  } catch (error) {
    throw parts.unavailable(error);
  }
}
