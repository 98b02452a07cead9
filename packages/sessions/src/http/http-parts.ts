import {
  type ActiveSessionSnapshot,
  createSessionSlot,
  type OnSession,
  type SessionSlot,
} from "@durable-mcp/core";
import { isLost, manageSlot, type SendMessage } from "@durable-mcp/core/internal";
import {
  connectTimeoutMs,
  type McpClientConnection,
  readyTimeoutMs,
  sessionOptions,
} from "../declare/define-connection.ts";
import { createConnectionSecrets } from "../connection/connection-secrets.ts";
import type { ConnectionStep, LiveConnection } from "../connection/live-connection.ts";
import { createPausableLimits } from "../connection/pausable-limits.ts";
import type { RestoreError } from "../events/client-errors.ts";
import {
  connectionUnavailable,
  pathHint,
  requestError,
  restoreSessionError,
} from "../events/connection-error.ts";
import { closedCall } from "../events/cut-short.ts";
import { createOperationTracer } from "../events/connection-telemetry.ts";
import type { StepSlot } from "../records/step-slot.ts";
import type { WaitingSource } from "../waiting/waiting-source.ts";
import { createConnectionFetch } from "../connection/connection-fetch.ts";
import type { JudgedTool } from "../declare/tool-options.ts";

export interface HttpConnectionOptions extends ConnectionStep, Partial<StepSlot> {
  readonly definition: McpClientConnection;
  /** Where calls wait, if the connection has `waiting`. */
  readonly waiting?: WaitingSource | undefined;
}

export type HttpParts = ReturnType<typeof createHttpParts>;

/** The way of one client to the server. */
export interface ClientPipe {
  readonly fetch: typeof globalThis.fetch;
  /** For a client of ours, where the connection has a slot. */
  readonly send?: SendMessage;
}

/** The common parts of the clients of one connection over HTTP. */
export function createHttpParts(options: HttpConnectionOptions) {
  const { definition, context, slot, onSession, listsTools, telemetry, now, sessionName } = options;
  const { secrets = createConnectionSecrets() } = options;
  const emit: ConnectionStep["emit"] = (event) => options.emit(secrets.scrubEvent(event));
  const { url, waiting, onElicitation } = definition.options;
  const { connection } = context;
  const { origin, pathname } = new URL(url);
  const { paused, limited } = createPausableLimits();
  /** When the last request was sent, and how many. */
  const sent: { lastAt?: number; requests: number } = { requests: 0 };
  const connectionFetch = createConnectionFetch(definition.options, context, {
    ...{ now, paused, secrets },
    onRequest() {
      sent.lastAt = now();
      sent.requests += 1;
      options.countRequest(connection);
    },
    onSession() {
      const { session } = definition.options;
      // The definition says nothing of sessions.
      if (session === undefined && waiting === undefined)
        emit({ type: "session-unused", connection });
    },
    // A shared session is used in several agent sessions.
    sessionId: options.keptAs.shared === undefined ? options.sessionId : undefined,
  });
  /** Delivers failures that follow an answer's headers. A connection without a slot keeps none. */
  const deliverySlot = slot ?? createSessionSlot();
  const inConnectTime: LiveConnection["inConnectTime"] = (signal, work) =>
    limited(readyTimeoutMs(definition), signal, work);
  /** The listing before the save may take half of the handshake's time. */
  const inHandshakeTime: LiveConnection["inConnectTime"] = (signal, work) =>
    limited(
      readyTimeoutMs(definition) + (listsTools ? connectTimeoutMs(definition) / 2 : 0),
      signal,
      work,
    );
  const restoreError: RestoreError = (error, { method, isAborted, isBegun } = {}) => {
    const own = restoreSessionError(error, connection, deliverySlot);
    const isOver = isAborted === true || context.abortSignal.aborted;
    const hint = pathHint(connectionFetch.initializeStatus, pathname);
    const isMute = waiting === undefined && onElicitation === undefined;
    const use = { connection, origin, method, pathHint: hint, isMute };
    const called = closedCall(own, use, isBegun && isOver && !isAborted);
    return secrets.scrubError(isOver ? called : requestError(called, use));
  };
  return {
    ...options,
    ...{ secrets, emit },
    onSession: dated(
      onSession && ((snapshot: ActiveSessionSnapshot) => paused(() => onSession(snapshot))),
      options,
    ),
    deliverySlot,
    ...{ paused, inConnectTime, inHandshakeTime },
    callLimits: createPausableLimits(),
    ...{ url, origin },
    connectionFetch,
    use: sent,
    toolNow:
      typeof definition.options.approval === "function" && slot
        ? (tool: JudgedTool) => listedIn(slot, tool)
        : undefined,
    /** The slot of the session for the tools in `session.except`. */
    exceptSlot: sessionOptions(definition).except && createSessionSlot(),
    /** Whether an earlier step lost the session, and none took its place. */
    isAfterLoss: isLost(slot?.snapshot),
    restoreError,
    /** The error of a connection that cannot be used, whatever the reason. */
    unavailable: (error: unknown) => connectionUnavailable(restoreError(error), connection, origin),
    trace: createOperationTracer(telemetry, emit, {
      connection,
      sessionName,
      transport: "http",
      origin,
    }),
  };
}

/** The save point, which adds the time from which the session's age counts, if there is a limit. */
function dated(
  save: OnSession | undefined,
  { definition, now }: HttpConnectionOptions,
): OnSession | undefined {
  if (sessionOptions(definition).maxAgeMs === undefined) return save;
  return async (snapshot) => {
    const own = { ...snapshot, startedAt: now() };
    return (await save?.(own)) ?? own;
  };
}

/** A tool as it was listed last. */
function listedIn(slot: SessionSlot, tool: JudgedTool): JudgedTool {
  return (
    manageSlot(slot)
      .listed()
      ?.tools?.find(({ name }) => name === tool.name) ?? tool
  );
}
