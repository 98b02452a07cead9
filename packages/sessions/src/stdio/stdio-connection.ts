import { McpSessionError } from "@durable-mcp/core";
import { abortable, within, withTimeLimit } from "@durable-mcp/core/internal";
import type { McpClient } from "../base/mcp-client.ts";
import type {
  ConnectionManagement,
  LiveConnection,
  LiveProcess,
  ProcessStatus,
} from "../connection/live-connection.ts";
import { createLossNotices } from "../connection/loss-notice.ts";
import { mayRunTwice } from "../declare/define-connection.ts";
import { createPausableLimits } from "../connection/pausable-limits.ts";
import type { McpStdioConnectionOptions } from "../declare/stdio-connection-options.ts";
import { createSharedClient } from "../connection/shared-client.ts";
import { tellIfUnavailable } from "../events/connection-error.ts";
import { createOperationTracer } from "../events/connection-telemetry.ts";
import { openNext, type OpenServer, restoreStdioError } from "./open-server.ts";
import { stdioOrigin } from "./stdio-errors.ts";
import {
  closeServers,
  createStdioParts,
  type StdioParts,
  type StdioServer,
  type StdioStep,
} from "./stdio-server.ts";

/**
 * One stdio connection of one run: one process at a time, started on first use and replaced
 * when it ends by itself. Whoever holds the connection owns the processes: `settle` and
 * `endLooseSessions` end them.
 */
export function createStdioConnection(step: StdioStep): LiveConnection {
  const { options, context } = step;
  const name = context.connection;
  const trace = createStdioTracer(step);
  const parts = createStdioParts(step);
  const { life, servers, closing, secrets, emit } = parts;
  const restoreError = (error: unknown) => restoreStdioError(parts, error);
  const client = createSharedClient(step, (gone) =>
    trace({ operation: life.isInPlace() ? "recover" : "connect" }, async (note) => {
      const opened = await server.open(() => openNext(parts));
      void watch(parts, opened.server, gone);
      note({ protocolVersion: opened.client.initializeResult.protocolVersion });
      return opened.client;
    }),
  );

  const probe = async (signal: AbortSignal) => await askServer(await client.get(), signal);
  const server = createCurrentServer(parts, () => client.replace(), probe);
  let uses = 0;

  const connection: LiveConnection = {
    name,
    definition: { options },
    sessionId: step.sessionId,
    origin: stdioOrigin(options),
    session: "process",
    principal: context.principal,
    process: server.process,
    abortSignal: context.abortSignal,
    ...{ trace, emit },
    inConnectTime: (signal, work) => createPausableLimits().limited(parts.connectMs, signal, work),
    startCallLimit: parts.callLimits.start,
    lossNotices: createLossNotices([life], options.session?.lossNotice),
    createFetch: () => refuseFetch(name),
    async client() {
      const ending = uses === 0 && server.endIfOld();
      // Without a reason to wait, calls go out in the order in which they were made.
      if (ending) await ending;
      return await client.get();
    },
    // Also of what wraps this connection.
    async frameworkClient(this: LiveConnection) {
      return await this.client();
    },
    async withRecovery(tool, attempt) {
      uses += 1;
      try {
        const ending = uses === 1 && server.endIfOld();
        if (ending) await ending;
        return await attempt();
      } catch (error) {
        // What repeats it after the end would say that nothing was sent.
        const isOver = context.abortSignal.aborted || !step.isActive();
        if (isOver || !mayRepeat(options, tool, restoreError(error))) throw error;
        return await attempt();
      } finally {
        uses -= 1;
      }
    },
    probe,
    // Nothing is kept, so every listing asks the process.
    ask: () => Promise.resolve(),
    restoreError,
    tell: (error) => tellIfUnavailable(emit, name, error),
    noteRun: client.noteRun,
    noteClosed: client.noteClosed,
    ...{ secrets, keptAs: step.keptAs, takesNotes: true },
    manage: server.management,
    openings: client.openings,
    async settle() {
      // There is nothing to save: whoever is still waiting waits for nothing.
      closing.abort(new DOMException("The run is over.", "AbortError"));
      await Promise.allSettled(client.openings);
    },
    async endLooseSessions() {
      await closeServers(servers);
    },
  };
  return connection;
}

/**
 * The server that runs now.
 *
 * @param forgetClient makes the next use start another
 * @param ask asks the running process. Rejects with the reason why it did not answer
 */
function createCurrentServer(
  { options, context, life, servers, errors, now, emit }: StdioParts,
  forgetClient: () => void,
  ask: (signal: AbortSignal) => Promise<void>,
) {
  const { maxAgeMs = Infinity } = options.session ?? {};
  let current: (OpenServer & { readonly startedAt: number }) | undefined;
  let endings = 0;

  const status = (): ProcessStatus | undefined => {
    if (life.isInPlace()) return { isRunning: false };
    if (current === undefined || current.server.isClosed()) return undefined;
    const { startedAt, client } = current;
    const { protocolVersion, serverInfo } = client.initializeResult;
    const { name, version } = serverInfo;
    return { isRunning: true, startedAt, protocolVersion, server: { name, version } };
  };
  const end: LiveProcess["end"] = async (mode) => {
    endings += 1;
    life.close(mode);
    forgetClient();
    await closeServers(servers);
  };
  const management: ConnectionManagement = {
    inspect() {
      const { isRunning = false, startedAt, ...details } = status() ?? {};
      const lastUsedAt = life.lastUsedAt();
      return {
        connected: isRunning,
        ...(isRunning && startedAt !== undefined && { connectedSince: startedAt }),
        ...details,
        ...(lastUsedAt !== undefined && { lastUsedAt }),
        ...(life.isLost() && { kind: "lost" as const }),
      };
    },
    async check(timeoutMs) {
      if (life.isLost()) return { alive: false, reason: "lost" };
      if (status()?.isRunning !== true) return { alive: false, reason: "not-connected" };
      const signal = withTimeLimit(timeoutMs, context.abortSignal);
      try {
        await abortable(ask(signal), signal);
        return { alive: true };
      } catch {
        return { alive: false, reason: signal.aborted ? "timeout" : "unreachable" };
      }
    },
    async restart(timeoutMs) {
      if (status() === undefined) return { ended: true };
      const isEnded = await within(timeoutMs, end("restart"));
      return isEnded ? { ended: true } : { ended: false, reason: "timeout" };
    },
    // No list is kept: each listing asks the process.
    forgetTools: () => undefined,
  };
  return {
    process: { status, end } satisfies LiveProcess,
    management,
    /** @throws {McpSessionError} `CONNECTION_UNAVAILABLE` if the process was ended meanwhile */
    async open(start: () => Promise<OpenServer>): Promise<OpenServer> {
      const before = endings;
      const opened = await start();
      if (before !== endings) {
        void opened.server.close();
        throw errors.unavailable("was ended while it started. The next use starts another.");
      }
      current = { ...opened, startedAt: now() };
      return opened;
    },
    /** Ends the process if it is older than `session.maxAgeMs` and no request is under way. */
    endIfOld(): Promise<void> | undefined {
      const { isRunning, startedAt = 0 } = status() ?? {};
      if (!isRunning || now() - startedAt < maxAgeMs || current!.server.isBusy()) return undefined;
      emit({ type: "discarded", connection: context.connection, reason: "age" });
      return end("restart");
    },
  };
}

/** Sends the smallest request that the client has. */
async function askServer(client: McpClient, signal: AbortSignal): Promise<void> {
  if (client.initializeResult.capabilities.tools == null) return;
  await client.listTools({ options: { signal } });
}

function createStdioTracer({ telemetry, emit, context, sessionName }: StdioStep) {
  const { connection } = context;
  return createOperationTracer(telemetry, emit, {
    connection,
    sessionName,
    transport: "stdio",
    origin: undefined,
  });
}

function refuseFetch(name: string): never {
  throw new McpSessionError(
    "CONNECTION_INVALID",
    `Connection ${name} runs over stdio, where there is nothing to fetch. Use client(${JSON.stringify(name)}), or put the server behind Streamable HTTP.`,
    { data: { field: "name", connection: name } },
  );
}

/** Waits for the server's end, and reports it as a loss if the server ended by itself. */
async function watch(parts: StdioParts, server: StdioServer, gone: () => void): Promise<void> {
  const { context, isActive, life, emit } = parts;
  await server.exited;
  gone();
  if (server.isClosed() || !isActive()) return;
  life.ended();
  const end = await server.ended;
  const { exitCode, signal } = end.type === "ended" ? end : { exitCode: null, signal: null };
  emit({ type: "lost", connection: context.connection, exitCode, signal });
}

/** Whether a request that met the end of a server may be sent to the next server. */
function mayRepeat(
  { session = {} }: McpStdioConnectionOptions,
  tool: Parameters<LiveConnection["withRecovery"]>[0],
  failure: unknown,
): boolean {
  if (!McpSessionError.isInstance(failure) || failure.code !== "OUTCOME_UNKNOWN") return false;
  const { resend } = session;
  return tool === undefined ? resend !== "never" : mayRunTwice(tool, resend);
}
