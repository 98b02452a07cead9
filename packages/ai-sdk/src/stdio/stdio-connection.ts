import type { MCPClient } from "@ai-sdk/mcp";
import { McpSessionError } from "@durable-mcp/core";
import { abortable, withTimeLimit } from "@durable-mcp/core/internal";
import type { ConnectionStart } from "../connection/connection-options.ts";
import type { LiveConnection } from "../connection/live-connection.ts";
import { createLossNotices } from "../connection/loss-notice.ts";
import { mayRunTwice } from "../connection/define-connection.ts";
import { createPausableLimits } from "../connection/pausable-limits.ts";
import type { McpStdioConnectionOptions } from "../connection/stdio-connection-options.ts";
import { createSharedClient } from "../connection/shared-client.ts";
import { withSessionErrors } from "../events/client-errors.ts";
import { connectionUnavailable } from "../events/connection-error.ts";
import { tellIfUnavailable } from "../events/unavailable-event.ts";
import { createOperationTracer } from "../events/connection-telemetry.ts";
import { createCurrentServer } from "./current-server.ts";
import {
  closeServers,
  connectServer,
  createStdioParts,
  type OpenServer,
  type StdioParts,
  type StdioServer,
  type StdioStep,
} from "./stdio-server.ts";
import { describeEnd, stdioOrigin } from "./stdio-errors.ts";

/**
 * One stdio connection of one registry: one process at a time, started on first use and replaced
 * when it ends by itself. Whoever holds the connection owns the processes: `settle` and
 * `endLooseSessions` end them.
 */
export function createStdioConnection(step: StdioStep): LiveConnection {
  const { options, context } = step;
  const name = context.connection;
  const trace = createStdioTracer(step);
  const parts = createStdioParts(step);
  const { life, servers, closing } = parts;
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
    trace,
    inConnectTime: (signal, work) => createPausableLimits().limited(parts.connectMs, signal, work),
    emit: step.emit,
    lossNotices: createLossNotices([life], options.session?.lossNotice),
    createFetch: () => refuseFetch(name),
    async client() {
      const ending = uses === 0 && server.endIfOld();
      // Without a reason to wait, calls go out in the order in which they were made.
      if (ending) await ending;
      return await client.get();
    },
    withKept: (open) => open(connection),
    async withRecovery(tool, attempt) {
      uses += 1;
      try {
        const ending = uses === 1 && server.endIfOld();
        if (ending) await ending;
        return await attempt();
      } catch (error) {
        if (!mayRepeat(options, tool, restoreError(error))) throw error;
        return await attempt();
      } finally {
        uses -= 1;
      }
    },
    probe,
    // Nothing is kept, so every listing asks the process.
    ask: () => Promise.resolve(),
    restoreError,
    tell: (error) => tellIfUnavailable(step.emit, name, error),
    noteRun: client.noteRun,
    noteClosed: client.noteClosed,
    ...{ credentials: () => [], keptAs: step.keptAs, takesEnvelopes: true },
    manage: server.management,
    openings: client.openings,
    async settle() {
      // There is nothing to save: whoever is still waiting waits for nothing.
      closing.abort(new DOMException("The registry was disposed of.", "AbortError"));
      await Promise.allSettled(client.openings);
    },
    async endLooseSessions() {
      await closeServers(servers);
    },
  };
  return connection;
}

/** Sends the smallest request that the client has. */
async function askServer(client: MCPClient, signal: AbortSignal): Promise<void> {
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

/** The error of a request that met the server's end, or whose answer is of no use. */
function restoreStdioError({ failures }: Pick<StdioParts, "failures">, error: unknown): unknown {
  const data: unknown = (error as { data?: unknown } | null | undefined)?.data;
  return (typeof data === "object" && data !== null && failures.get(data)?.error) || error;
}

/** Starts the first server, or one in the place of a lost one. */
async function openNext(parts: StdioParts): Promise<OpenServer> {
  const { options, context, errors, life } = parts;
  const wasLost = life.isLost();
  if (wasLost && options.session?.onLoss === "report") {
    throw errors.lost("ended, and its state is lost. It is not started again (onLoss: report).");
  }
  if (life.takeSecondLoss()) {
    throw errors.lost(
      "ended again before its first answer. Its state is lost. The next use starts it once more.",
    );
  }
  try {
    return await openServer(parts);
  } catch (error) {
    context.abortSignal.throwIfAborted();
    const why = McpSessionError.isInstance(error)
      ? error
      : errors.unavailable(`could not be started: ${(error as Error).message}`, { cause: error });
    if (!wasLost) throw connectionUnavailable(why, context.connection, stdioOrigin(options));
    throw errors.lost(
      `ended, and its state is lost. It could not be started again. ${why.message}`,
      { cause: why },
    );
  }
}

async function openServer(parts: StdioParts): Promise<OpenServer> {
  const { context, errors, life, servers, emit } = parts;
  const { connection } = context;
  // A process of the server before may still hold a port, or the lock of a browser's profile.
  await closeServers(servers);
  context.abortSignal.throwIfAborted();
  const { server, client: raw } = await connectServer(parts);
  const client: MCPClient = withSessionErrors(raw, (error) => {
    const own = restoreStdioError(parts, error);
    if (McpSessionError.isInstance(own) || server.end === undefined) return own;
    return errors.lost(
      `${describeEnd(server.end)}. This client ended with it. Ask the registry for client(${JSON.stringify(connection)}) again.`,
      { cause: error },
    );
  });
  const opened = { server, client };
  const reason = life.isInPlace() ? "recovered" : "started";
  try {
    await prepareServer(parts, opened, reason);
  } catch (error) {
    emit({ type: "start-failed", connection, reason });
    void server.close();
    throw error;
  }
  const { protocolVersion } = client.initializeResult;
  emit({ type: reason, connection, protocolVersion, changed: life.opened(client) });
  return opened;
}

/**
 * Runs `session.onStart` before anything else is sent.
 *
 * @throws {McpSessionError} `CONNECTION_UNAVAILABLE`
 */
async function prepareServer(
  { options, context, errors }: StdioParts,
  { server, client }: OpenServer,
  reason: ConnectionStart["reason"],
): Promise<void> {
  const { session, timeouts } = options;
  if (session?.onStart === undefined) return;
  const startMs = timeouts?.startMs ?? 60_000;
  const abortSignal = withTimeLimit(startMs, context.abortSignal);
  try {
    const hook = session.onStart({ ...context, reason, client, abortSignal });
    await abortable(Promise.race([hook, server.ended]), abortSignal);
    // The hook may have caught the error of a request that met the server's end.
    if (server.end !== undefined) throw new Error(`The server ${describeEnd(server.end)}.`);
  } catch (cause) {
    const isLate = abortSignal.aborted && !context.abortSignal.aborted;
    const why = isLate ? `did not end within ${startMs} ms` : "failed";
    throw errors.unavailable(
      `was not prepared: onStart ${why}; the cause says more. Its process was ended, and the next use starts another.`,
      { cause, field: "onStart", output: server.output() },
    );
  }
}

/** Waits for the server's end, and reports it as a loss if the server ended by itself. */
async function watch(parts: StdioParts, server: StdioServer, gone: () => void): Promise<void> {
  const { context, isActive, life, emit } = parts;
  await server.exited;
  gone();
  if (server.isClosed || !isActive()) return;
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
