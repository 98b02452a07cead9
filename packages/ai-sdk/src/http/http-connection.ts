import type { MCPClient } from "@ai-sdk/mcp";
import { endSession, McpSessionError, type SessionEvent } from "@durable-mcp/core";
import { isLost, scrubJson } from "@durable-mcp/core/internal";
import { isStateful, sessionOptions } from "../connection/define-connection.ts";
import type { LiveConnection } from "../connection/live-connection.ts";
import type { ConnectionState } from "../connection/connection-management.ts";
import { createSharedClient } from "../connection/shared-client.ts";
import { createLossNotices } from "../connection/loss-notice.ts";
import { withSessionErrors } from "../errors/client-errors.ts";
import {
  authorizationRequired,
  isRegistryDisposed,
  restoreSessionError,
} from "../errors/connection-error.ts";
import { tellIfUnavailable } from "../errors/unavailable-event.ts";
import { withTraceContext } from "../events/connection-telemetry.ts";
import { watchCapabilities } from "./watch-capabilities.ts";
import { track } from "../connection/call-progress.ts";
import { ask, probe } from "./ask-server.ts";
import { withFollowedCalls } from "./followed-calls.ts";
import { createFetchSource, createWaitingParts, type TakeFetch } from "./client-fetches.ts";
import { manageHttp } from "./manage-http.ts";
import { isOldServerStatus, openClient } from "./open-client.ts";
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
  const waitingParts = createWaitingParts(parts);
  const { pausing, keptAnswers } = waitingParts;
  const takeFetch = createFetchSource(parts, onEvent, waitingParts);
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
    keptAnswers,
    approvals: parts.approvals || undefined,
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
function takesProgress({ progress }: HttpParts, event: SessionEvent): boolean {
  return event.type === "notification" && progress.receive(event.method, event.params);
}

/** The event without what the server repeats of the connection's secrets. */
function withoutSecrets({ connectionFetch }: HttpParts, event: SessionEvent): SessionEvent {
  if (event.type !== "notification") return event;
  return {
    ...event,
    params: scrubJson(event.params, connectionFetch.scrub) as typeof event.params,
  };
}

/** The first revision in which a server asks with an answer, which can wait. */
const firstStatelessVersion = "2026-07-28";

/** @throws {McpSessionError} the reason why there is no client */
async function connectClient(
  parts: HttpParts,
  takeFetch: TakeFetch,
  isPausing: boolean,
): Promise<MCPClient> {
  const { definition, context, slot, connectionFetch, telemetry, progress, emit } = parts;
  const { connection } = context;
  const { headers, fetch, authProvider } = definition.options;
  // Without a fetch `@ai-sdk/mcp` checks the hosts of OAuth requests itself.
  const isOurs = slot !== undefined || isPausing;
  const isLeftToClient = !isOurs && authProvider !== undefined && fetch === undefined;
  const mayHaveSession = isStateful(definition);
  // Of the calls on a session the session fetch tells.
  const isPassed = () => {
    const { snapshot } = slot ?? {};
    const isKept = snapshot?.kind === "sessionless" && snapshot.initializeResult !== undefined;
    return mayHaveSession ? snapshot?.kind === "stateless" : !isKept;
  };
  const ownFetch = () => {
    const hasLogin = authProvider !== undefined;
    const traced = withTraceContext(withRefusals(takeFetch(), { hasLogin }), telemetry);
    return withFollowedCalls(traced, progress, (isFollowed) => isFollowed && isPassed());
  };
  const clientFetch = isLeftToClient ? undefined : ownFetch();

  const isOldServer = (error: unknown) => {
    if (isLeftToClient) {
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
        withFollowedCalls(
          withTraceContext(connectionFetch.fetchForOrigin, telemetry),
          progress,
          (isFollowed) => !isFollowed,
        ),
      headers: async () => (clientFetch || !headers ? undefined : await connectionFetch.headers()),
      authProvider: connectionFetch.authProvider,
      isOldServer,
      onSseFallback: () => emit({ type: "sse-fallback", connection }),
    });
    // A client with a fetch of its own takes no token.
    if (clientFetch) track(client, progress);
    const { protocolVersion } = client.initializeResult;
    if (isPausing && protocolVersion < firstStatelessVersion) {
      emit({ type: "cannot-wait", connection, protocolVersion });
    }
    return withSessionErrors(client, parts.restoreError);
  } catch (error) {
    throw parts.unavailable(error);
  }
}
