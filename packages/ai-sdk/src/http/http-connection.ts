import { abortable } from "@durable-mcp/core/internal";
import type { MCPClient } from "@ai-sdk/mcp";
import {
  createSessionFetch,
  createSessionSlot,
  type OnSession,
  type SessionEvent,
  type SessionSlot,
  type SessionStart,
  endSession,
} from "@durable-mcp/core";
import type { LiveConnection } from "../connection/live-connection.ts";
import { connectionUnavailable, restoreSessionError } from "../errors/connection-error.ts";
import type { ConnectionEvent } from "../events/connection-event.ts";
import type { ConnectionTelemetry, NoteDetails } from "../events/connection-telemetry.ts";
import { createConnectionFetch } from "./connection-fetch.ts";
import type { ConnectionContext } from "../connection/connection-options.ts";
import {
  connectTimeoutMs,
  isStateful,
  type McpClientConnection,
  readyTimeoutMs,
  sessionOptions,
  startTimeoutMs,
} from "../connection/define-connection.ts";
import { createLossNotices } from "../connection/loss-notice.ts";
import { mayRunTwice } from "../connection/may-run-twice.ts";
import { needsListening } from "../connection/client-capabilities.ts";
import { isOldServerStatus, openClient } from "./open-client.ts";
import { once } from "../base/once.ts";
import { createOperationTracer } from "../events/operation-tracer.ts";
import { watchClientVersion } from "./peer-version.ts";
import { withTraceContext } from "../events/trace-context.ts";
import { ping } from "./ping-session.ts";
import { withSessionErrors } from "../errors/with-session-errors.ts";

export function createHttpConnection({
  definition,
  context,
  slot,
  onSession,
  isActive,
  emit,
  telemetry,
  now,
}: {
  definition: McpClientConnection;
  context: ConnectionContext;
  /** The slot of a stateful connection. */
  slot?: SessionSlot | undefined;
  /** The save point of the slot. */
  onSession?: OnSession | undefined;
  /** Whether the step goes on: aborted calls are cancelled then, and not when clients close. */
  isActive: () => boolean;
  emit: (event: ConnectionEvent) => void;
  telemetry: ConnectionTelemetry | undefined;
  now: () => number;
}): LiveConnection {
  const { options } = definition;
  const name = context.connection;
  const url = new URL(options.url);
  const trace = createOperationTracer(telemetry, {
    connection: name,
    transport: "http",
    origin: url.origin,
  });
  const authProvider = once(async () =>
    typeof options.authProvider === "function"
      ? await options.authProvider(context)
      : options.authProvider,
  );
  const connectionFetch = createConnectionFetch({ definition, context, authProvider, now });
  const session = sessionOptions(definition);
  const { except, onStart } = session;
  const sideSlot = except && createSessionSlot();
  /** For one client each: clients number their requests alike, and cancel by number. */
  const createFetch = (): typeof globalThis.fetch => {
    if (slot === undefined) return connectionFetch.fetch;
    return createSessionFetch({
      url,
      slot,
      fetch: connectionFetch.fetch,
      allowOtherOrigins: options.fetch !== undefined,
      redirect: options.redirect,
      listen: needsListening(definition),
      cancelOnAbort: isActive,
      toolList: session.toolList,
      resend: session.resend,
      recover: session.recover,
      isSafeToResend: (request) => mayRunTwice(request, session, slot.snapshot),
      classifyLoss: session.classifyLoss,
      retrySameId: session.retrySameId,
      except: sideSlot && {
        slot: sideSlot,
        matches: ({ method, params }) =>
          method === "tools/call" && except.some((tool) => tool === params?.["name"]),
      },
      onStart: onStart && ((start) => prepare(start)),
      onSession,
      aroundRecovery:
        telemetry &&
        ((recover) =>
          trace({ operation: "recover" }, async (note) => {
            note({ refusedStatus: (await recover()).status });
          })),
      statelessMaxAgeMs: session.statelessMaxAgeMs,
      timeouts: {
        initializeMs: connectTimeoutMs(definition),
        startMs: startTimeoutMs(definition),
        answerMs: options.timeouts?.answerMs,
      },
      onEvent: observe,
      now,
    });
  };
  // Made at once: it says when what was saved is not for this URL, whether or not it is used.
  let unused: typeof globalThis.fetch | undefined = createFetch();
  const takeFetch = () => {
    const fetch = unused ?? createFetch();
    unused = undefined;
    return fetch;
  };
  // Without a fetch `@ai-sdk/mcp` checks the hosts of OAuth requests itself.
  const isLeftToClient =
    slot === undefined && options.authProvider !== undefined && options.fetch === undefined;
  const isResuming = slot?.snapshot?.kind === "session";
  let opening: Promise<MCPClient> | undefined;
  const openings: LiveConnection["openings"] = new Set();

  function observe(event: SessionEvent): void {
    // What the client was told of the server no longer holds; the next use connects another.
    const isOther = (event.type === "recovered" || event.type === "started") && event.changed;
    if (isOther) opening = undefined;
    emit({ ...event, connection: name });
  }

  /** Runs `session.onStart` with a client on the new session. */
  async function prepare({ reason, fetch: startFetch, abortSignal }: SessionStart): Promise<void> {
    const signal = AbortSignal.any([abortSignal, context.abortSignal]);
    const startContext = { ...context, abortSignal: signal };
    const client = await openClient({
      definition,
      context: startContext,
      fetch: startFetch,
      sseFetch: undefined,
      headers: () => Promise.resolve(undefined),
      authProvider,
      isOldServer: () => false,
      onSseFallback: () => undefined,
    });
    try {
      const start = { ...startContext, reason, client: withSessionErrors(client, restoreError) };
      // Not every hook heeds its signal, and what it prepares after the step nobody would save.
      await abortable(Promise.resolve(onStart!(start)), signal);
    } finally {
      await client.close();
    }
  }

  const restoreError = (error: unknown) => restoreSessionError(error, name, slot);

  const isOldServer = (error: unknown) => {
    if (isLeftToClient) {
      return isOldServerStatus((error as { statusCode?: unknown } | null)?.statusCode);
    }
    const known = slot?.snapshot?.kind ?? "sessionless";
    const { initializeStatus } = connectionFetch;
    return !isResuming && known === "sessionless" && isOldServerStatus(initializeStatus);
  };

  const connect = async (note: NoteDetails) => {
    const clientFetch = isLeftToClient
      ? undefined
      : withTraceContext(watchClientVersion(takeFetch(), name, emit), telemetry);
    try {
      const client = await openClient({
        definition,
        context,
        fetch: clientFetch,
        sseFetch: clientFetch && withTraceContext(connectionFetch.fetchForOrigin, telemetry),
        headers: async () =>
          clientFetch || !options.headers ? undefined : await connectionFetch.headers(),
        authProvider,
        isOldServer,
        onSseFallback: () => emit({ type: "sse-fallback", connection: name }),
      });
      note({ protocolVersion: client.initializeResult.protocolVersion });
      return withSessionErrors(client, restoreError);
    } catch (error) {
      throw connectionUnavailable(restoreError(error), name, url.origin);
    }
  };

  const connection: LiveConnection = {
    name,
    definition,
    origin: url.origin,
    session: isStateful(definition) ? "stateful" : "stateless",
    connectMs: readyTimeoutMs(definition),
    abortSignal: context.abortSignal,
    createFetch: ({ isTraced = false } = {}) =>
      isTraced ? withTraceContext(takeFetch(), telemetry) : takeFetch(),
    withKept: (open) => open(connection),
    // The session fetch does it.
    withRecovery: (_, attempt) => attempt(),
    renew: connectionFetch.renew,
    openings,
    async settle() {
      await Promise.all([slot?.settle(), sideSlot?.settle()]);
    },
    async endLooseSessions() {
      const loose = [slot?.unfinished, sideSlot?.unfinished, sideSlot?.snapshot];
      const endings = loose.map(async (snapshot) => {
        if (snapshot === undefined) return;
        await endSession({ url, snapshot, fetch: connectionFetch.fetch });
      });
      await Promise.all(endings);
    },
    lossNotices:
      slot && createLossNotices(sideSlot ? [slot, sideSlot] : [slot], session.lossNotice),
    restoreError,
    trace,
    async probe(signal) {
      const isConnected = opening !== undefined;
      const client = await connection.client();
      if (slot?.snapshot?.kind !== "session") {
        // A handshake has just been answered; otherwise there is nothing smaller that the client sends.
        const hasTools = client.initializeResult.capabilities.tools != null;
        if (isConnected && hasTools) await client.listTools({ options: { signal } });
        return;
      }
      const { status, failure } = await ping({ fetch: takeFetch(), url, slot, signal });
      if (failure !== undefined) throw failure;
      if (status !== undefined) {
        throw connectionUnavailable({ statusCode: status }, name, url.origin);
      }
    },
    client() {
      if (opening === undefined) {
        const connecting: Promise<MCPClient> = trace({ operation: "connect" }, connect).catch(
          (error: unknown) => {
            openings.delete(connecting);
            if (opening === connecting) opening = undefined;
            throw error;
          },
        );
        opening = connecting;
        openings.add(connecting);
      }
      return opening;
    },
  };
  return connection;
}
