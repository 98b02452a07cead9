import {
  type ActiveSessionSnapshot,
  endSession,
  McpSessionError,
  type SessionEvent,
} from "@durable-mcp/core";
import { type NotingClient, takeProgress } from "../connection/call-envelope.ts";
import { missingCapabilities } from "../connection/client-capabilities.ts";
import { clientOpener, isStateful, sessionOptions } from "../declare/define-connection.ts";
import type { ConnectionState, LiveConnection } from "../connection/live-connection.ts";
import { createLossNotices } from "../connection/loss-notice.ts";
import { createSharedClient, type SharedClient } from "../connection/shared-client.ts";
import type { AskServer } from "@durable-mcp/core/waiting/internal";
import { authorizationRequired, isRunOver, tellIfUnavailable } from "../events/connection-error.ts";
import { createPipeSource } from "./client-fetches.ts";
import { createHttpParts, type HttpConnectionOptions, type HttpParts } from "./http-parts.ts";
import { manageHttp } from "./manage-http.ts";
import { connectClient, isLeftToClient, isOwnSession } from "./open-client.ts";
import { createPausingCalls } from "./pausing-calls.ts";

/** One connection over HTTP, until its context's signal aborts. Sends nothing yet. */
export function createHttpConnection(options: HttpConnectionOptions): LiveConnection {
  const parts = createHttpParts(options);
  const { definition, context, slot, exceptSlot, trace } = parts;
  const name = context.connection;
  const slots = [slot, exceptSlot].filter((each) => each !== undefined);

  const { client, full, ofFramework } = createClients(parts, async (isOwn) =>
    connectClient(parts, takePipe, { isPausing: pausing !== undefined, isOwn }),
  );
  const capabilities = watchCapabilities(parts);
  const onEvent = (event: SessionEvent) => {
    if (isOtherServer(event, client.inspect())) for (const each of [client, full]) each.replace();
    if (takesProgress(parts, event)) return;
    parts.emit({ ...event, connection: name });
    capabilities.note(event);
  };
  const pausing = createPausingCalls(parts, asking(client));
  const takePipe = createPipeSource(parts, onEvent, pausing);
  const takeFetch = () => takePipe().fetch;
  const probeNow = async (signal: AbortSignal) =>
    await (await import("./ask-server.ts")).probe(parts, client, takeFetch, signal);
  const tell = (error: unknown) => {
    // The end of the step says nothing about the server, but a use after it is a mistake.
    if (context.abortSignal.aborted && !isRunOver(error as object)) return;
    tellIfUnavailable(parts.emit, name, error);
  };
  const telling = async <T>(work: Promise<T>) => {
    try {
      return await work;
    } catch (error) {
      tell(error);
      throw error;
    }
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
    startCallLimit: parts.callLimits.start,
    emit: parts.emit,
    lossNotices: isStateful(definition)
      ? createLossNotices(slots, sessionOptions(definition).lossNotice)
      : undefined,
    pausing,
    takesNotes: !isLeftToClient(parts, pausing !== undefined),
    toolNow: parts.toolNow,
    createFetch: takeFetch,
    client: () => client.live() ?? telling(client.get()),
    frameworkClient: async () => await telling(ofFramework()),
    toOutput: definition[clientOpener].toOutput,
    withRecovery: recovering(parts),
    probe: probeNow,
    ask: async (signal) => await (await import("./ask-server.ts")).ask(parts, takeFetch, signal),
    restoreError: parts.restoreError,
    secrets: parts.secrets,
    tell,
    noteRun: client.noteRun,
    noteClosed: client.noteClosed,
    keptAs: parts.keptAs,
    manage: manageHttp(parts, client, probeNow),
    get openings() {
      return new Set([...client.openings, ...full.openings]);
    },
    async settle() {
      await Promise.all([...slots.map((each) => each.settle()), pausing?.settle()]);
    },
    async endLooseSessions() {
      await Promise.all([endLoose(parts), capabilities.ended()]);
    },
  };
  return connection;
}

/** The connection's own client, and that of the framework's package, where it is another. */
function createClients(parts: HttpParts, connect: (isOwn: boolean) => Promise<NotingClient>) {
  const open = (isOwn: boolean) =>
    parts.trace({ operation: "connect" }, async (note) => {
      await parts.beforeUse?.();
      const connected = await connect(isOwn);
      note({ protocolVersion: connected.initializeResult.protocolVersion });
      return connected;
    });
  let isForApplication = false;
  const client = createSharedClient(parts, () => open(!isForApplication && isOwnSession(parts)));
  const full = createSharedClient({ ...parts, emit: () => undefined }, () => open(false));
  const ofFramework = async () => {
    isForApplication = true;
    const known = await client.get();
    return known.isOwn ? await full.get() : known;
  };
  return { client, full, ofFramework };
}

/** Asks with the connection's own client. */
const asking =
  (client: SharedClient): AskServer =>
  async ({ params }, signal) => {
    const read = { uri: String(params["uri"]), ...(signal && { options: { signal } }) };
    return { ...(await (await client.get()).readResource(read)) };
  };

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
      const { data } = restoreError(error) as Partial<McpSessionError>;
      if (data?.reason !== "other-era" || data.method === "initialize") throw error;
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
function takesProgress({ secrets }: HttpParts, event: SessionEvent): boolean {
  if (event.type !== "notification") return false;
  return takeProgress(event, secrets.scrub);
}

/**
 * Compares the session in use with the capabilities that its connection declares, and ends the one that
 * was replaced because it had been made without them, or was too old.
 */
function watchCapabilities(parts: HttpParts) {
  const { definition, context, slot, connectionFetch, url, emit } = parts;
  const { connection } = context;
  let { outdated } = parts;
  let ending: Promise<void> | undefined;

  const missingIn = (session: ActiveSessionSnapshot) =>
    missingCapabilities(definition.options, session.clientCapabilities);
  const tell = (capabilities: readonly string[], isRestarted: boolean) => {
    if (capabilities.length === 0) return;
    emit({ type: "capabilities-missing", connection, capabilities, isRestarted });
  };
  const tellReplaced = (session: ActiveSessionSnapshot) => {
    const missing = missingIn(session);
    const isForCapabilities =
      sessionOptions(definition).restartOnNewCapabilities && missing.length > 0;
    if (isForCapabilities) tell(missing, true);
    else emit({ type: "discarded", connection, reason: "age" });
  };
  const end = async (snapshot: ActiveSessionSnapshot) => {
    const { fetch } = connectionFetch;
    const { ended, status, reason } = await endSession({ url, snapshot, fetch });
    if (ended || reason === undefined || reason === "no-session") return;
    emit({ type: "not-ended", connection, reason, ...(status !== undefined && { status }) });
  };

  return {
    note({ type }: SessionEvent) {
      const session = slot?.snapshot;
      if (session?.kind !== "session") return;
      if (type === "resumed") tell(missingIn(session), false);
      if (outdated === undefined || (type !== "recovered" && type !== "started")) return;
      tellReplaced(outdated);
      if (outdated.sessionId !== session.sessionId) ending = end(outdated);
      outdated = undefined;
    },
    /** Waits for the end of the replaced session. */
    ended: async () => await ending,
  };
}
