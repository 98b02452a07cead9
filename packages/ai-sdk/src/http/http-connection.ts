import type { MCPClient } from "@ai-sdk/mcp";
import {
  createSessionSlot,
  endSession,
  type OnSession,
  type SessionEvent,
  type SessionSlot,
} from "@durable-mcp/core";
import type { ConnectionContext } from "../connection/connection-options.ts";
import {
  isStateful,
  type McpClientConnection,
  readyTimeoutMs,
  sessionOptions,
} from "../connection/define-connection.ts";
import type { LiveConnection } from "../connection/live-connection.ts";
import { createLossNotices } from "../connection/loss-notice.ts";
import { createSharedClient, type SharedClient } from "../connection/shared-client.ts";
import { once } from "../base/once.ts";
import { connectionUnavailable, restoreSessionError } from "../errors/connection-error.ts";
import { withSessionErrors } from "../errors/with-session-errors.ts";
import type { ConnectionEvent } from "../events/connection-event.ts";
import type { ConnectionTelemetry } from "../events/connection-telemetry.ts";
import { createOperationTracer } from "../events/operation-tracer.ts";
import { withTraceContext } from "../events/trace-context.ts";
import { createConnectionFetch } from "./connection-fetch.ts";
import { isOldServerStatus, openClient } from "./open-client.ts";
import { watchClientVersion } from "./peer-version.ts";
import { ping } from "./ping-session.ts";
import { createStatefulFetch } from "./stateful-fetch.ts";

export interface HttpConnectionOptions {
  readonly definition: McpClientConnection;
  readonly context: ConnectionContext;
  /** The slot of a stateful connection. */
  readonly slot?: SessionSlot | undefined;
  /** The save point of the slot. */
  readonly onSession?: OnSession | undefined;
  /** Whether the step goes on. */
  readonly isActive: () => boolean;
  readonly emit: (event: ConnectionEvent) => void;
  readonly telemetry: ConnectionTelemetry | undefined;
  readonly now: () => number;
}

/** One connection over HTTP, until its context's signal aborts. Sends nothing yet. */
export function createHttpConnection(own: HttpConnectionOptions): LiveConnection {
  const { definition, context, slot, emit, telemetry } = own;
  const name = context.connection;
  const { origin } = new URL(definition.options.url);
  const trace = createOperationTracer(telemetry, { connection: name, transport: "http", origin });
  const parts = createParts(own);
  const { connectionFetch, restoreError, exceptSlot } = parts;
  const slots = [slot, exceptSlot].filter((each) => each !== undefined);

  const client = createSharedClient(() =>
    trace({ operation: "connect" }, async (note) => {
      const connected = await connectClient(own, parts, takeFetch);
      note({ protocolVersion: connected.initializeResult.protocolVersion });
      return connected;
    }),
  );
  const onEvent = (event: SessionEvent) => {
    // The client's knowledge of the server is outdated then.
    const isOther = (event.type === "recovered" || event.type === "started") && event.changed;
    if (isOther) client.replace();
    emit({ ...event, connection: name });
  };
  /** Each client needs its own, because clients number their requests alike and cancel by number. */
  const createFetch = () =>
    slot === undefined
      ? connectionFetch.fetch
      : createStatefulFetch({
          ...{ ...own, ...parts, slot, onSession: own.onSession, onEvent },
          fetch: connectionFetch.fetch,
          trace: telemetry && trace,
        });
  // It is made at once, because it reports a saved snapshot of another URL even if it is not used.
  let unused: typeof globalThis.fetch | undefined = createFetch();
  const takeFetch = () => {
    const fetch = unused ?? createFetch();
    unused = undefined;
    return fetch;
  };

  const connection: LiveConnection = {
    name,
    definition,
    origin,
    session: isStateful(definition) ? "stateful" : "stateless",
    connectMs: readyTimeoutMs(definition),
    abortSignal: context.abortSignal,
    trace,
    lossNotices: slot && createLossNotices(slots, sessionOptions(definition).lossNotice),
    createFetch: ({ isTraced = false } = {}) =>
      isTraced ? withTraceContext(takeFetch(), telemetry) : takeFetch(),
    client: client.get,
    withKept: (open) => open(connection),
    // The session fetch recovers.
    withRecovery: (_, attempt) => attempt(),
    probe: (signal) => probeServer(own, client, takeFetch, signal),
    restoreError,
    renew: connectionFetch.renew,
    openings: client.openings,
    async settle() {
      await Promise.all(slots.map((each) => each.settle()));
    },
    async endLooseSessions() {
      const loose = [slot?.unfinished, exceptSlot?.unfinished, exceptSlot?.snapshot];
      const endings = loose.map(async (snapshot) => {
        if (snapshot === undefined) return;
        const { fetch } = connectionFetch;
        await endSession({ url: definition.options.url, snapshot, fetch });
      });
      await Promise.all(endings);
    },
  };
  return connection;
}

type Parts = ReturnType<typeof createParts>;

/** The common parts of its clients. */
function createParts({ definition, context, slot, now }: HttpConnectionOptions) {
  const { authProvider: given } = definition.options;
  const authProvider = once(async () =>
    typeof given === "function" ? await given(context) : given,
  );
  const { except } = sessionOptions(definition);
  return {
    authProvider,
    connectionFetch: createConnectionFetch({ definition, context, authProvider, now }),
    restoreError: (error: unknown) => restoreSessionError(error, context.connection, slot),
    exceptSlot: except && createSessionSlot(),
    isResuming: slot?.snapshot?.kind === "session",
  };
}

/** @throws {McpSessionError} the reason why there is no client */
async function connectClient(
  { definition, context, slot, emit, telemetry }: HttpConnectionOptions,
  { authProvider, connectionFetch, restoreError, isResuming }: Parts,
  takeFetch: () => typeof globalThis.fetch,
): Promise<MCPClient> {
  const { connection } = context;
  const { url, headers, fetch, authProvider: hasProvider } = definition.options;
  // Without a fetch `@ai-sdk/mcp` checks the hosts of OAuth requests itself.
  const isLeftToClient = slot === undefined && hasProvider !== undefined && fetch === undefined;
  const clientFetch = isLeftToClient
    ? undefined
    : withTraceContext(watchClientVersion(takeFetch(), connection, emit), telemetry);

  const isOldServer = (error: unknown) => {
    if (isLeftToClient) {
      return isOldServerStatus((error as { statusCode?: unknown } | null)?.statusCode);
    }
    const known = slot?.snapshot?.kind ?? "sessionless";
    const { initializeStatus } = connectionFetch;
    return !isResuming && known === "sessionless" && isOldServerStatus(initializeStatus);
  };

  try {
    const client = await openClient({
      definition,
      context,
      fetch: clientFetch,
      sseFetch: clientFetch && withTraceContext(connectionFetch.fetchForOrigin, telemetry),
      headers: async () => (clientFetch || !headers ? undefined : await connectionFetch.headers()),
      authProvider,
      isOldServer,
      onSseFallback: () => emit({ type: "sse-fallback", connection }),
    });
    return withSessionErrors(client, restoreError);
  } catch (error) {
    throw connectionUnavailable(restoreError(error), connection, new URL(url).origin);
  }
}

/** @throws the reason why the server did not answer */
async function probeServer(
  { definition, context, slot }: HttpConnectionOptions,
  client: SharedClient,
  takeFetch: () => typeof globalThis.fetch,
  signal: AbortSignal,
): Promise<void> {
  const isConnected = client.isBegun();
  const connected = await client.get();
  if (slot?.snapshot?.kind !== "session") {
    // A new client has just had its handshake answered. Otherwise a listing is the smallest request.
    const hasTools = connected.initializeResult.capabilities.tools != null;
    if (isConnected && hasTools) await connected.listTools({ options: { signal } });
    return;
  }
  const url = new URL(definition.options.url);
  const { status, failure } = await ping({ fetch: takeFetch(), url, slot, signal });
  if (failure !== undefined) throw failure;
  if (status === undefined) return;
  throw connectionUnavailable({ statusCode: status }, context.connection, url.origin);
}
