import type { MCPClient } from "@ai-sdk/mcp";
import { McpSessionError } from "@durable-mcp/core";
import { connectionUnavailable } from "../errors/connection-error.ts";
import type { ConnectionStart } from "../connection/session-options.ts";
import { createLossNotices } from "../connection/loss-notice.ts";
import type { NoteDetails } from "../events/connection-telemetry.ts";
import { toolMayRunTwice } from "../connection/may-run-twice.ts";
import type { OpenConnection } from "../connection/open-connection.ts";
import { createOperationTracer } from "../events/operation-tracer.ts";
import type { LiveConnection } from "../connection/live-connection.ts";
import { withSessionErrors } from "../errors/with-session-errors.ts";
import type { McpStdioConnectionOptions } from "../connection/stdio-connection-options.ts";
import { createStdioErrors, describeEnd, stdioOrigin } from "./stdio-errors.ts";
import { isUnsupportedVersion, startStdioServer, type StdioServer } from "./stdio-server.ts";

/**
 * One stdio connection of one registry: one process at a time, started on first use and replaced
 * when it ends by itself. Whoever holds the connection owns the processes: `settle` and
 * `endLooseSessions` end them.
 */
export function createStdioConnection({
  options,
  context,
  isActive,
  emit,
  telemetry,
}: { options: McpStdioConnectionOptions } & Parameters<OpenConnection>[0]): LiveConnection {
  const name = context.connection;
  const { session = {}, timeouts = {} } = options;
  const connectMs = timeouts.connectMs ?? 30_000;
  const errors = createStdioErrors(name, options);
  const trace = createOperationTracer(telemetry, {
    connection: name,
    transport: "stdio",
    origin: undefined,
  });
  const closing = new AbortController();
  const ownContext = {
    ...context,
    abortSignal: AbortSignal.any([context.abortSignal, closing.signal]),
  };
  const failures = new WeakMap<object, McpSessionError>();
  /** Those of which something may be left. */
  const servers = new Set<StdioServer>();
  const openings: LiveConnection["openings"] = new Set();
  let opening: Promise<MCPClient> | undefined;
  /** Whether what the server held is gone, and no other has taken its place. */
  let isLost = false;
  /** Whether the server in use, which took a lost one's place, is still to answer something. */
  let isUnproven = false;
  let hasLossNotice = false;
  let negotiated: string | undefined;

  const restoreError = (error: unknown): unknown => {
    const data: unknown = (error as { data?: unknown } | null | undefined)?.data;
    return (typeof data === "object" && data !== null && failures.get(data)) || error;
  };

  const start = async () => {
    const server = await startStdioServer({
      options,
      context: ownContext,
      errors,
      connectMs,
      failures,
      telemetry,
      onAnswer: () => (isUnproven = false),
      onNotification(method, params) {
        emit({ type: "notification", connection: name, method, params });
        if (method !== "notifications/tools/list_changed") return;
        emit({ type: "tools-changed", connection: name, reason: "list-changed" });
      },
    });
    servers.add(server);
    void server.ended.then(() => servers.delete(server));
    return server;
  };

  const connect = async (): Promise<{ server: StdioServer; client: MCPClient }> => {
    const server = await start();
    try {
      return { server, client: await server.connect({ discover: false }) };
    } catch (error) {
      void server.close();
      if (!isUnsupportedVersion(error)) throw error;
    }
    const modern = await start();
    try {
      return { server: modern, client: await modern.connect({ discover: true }) };
    } catch (error) {
      void modern.close();
      throw error;
    }
  };

  /** Runs `session.onStart` before anything else is sent. */
  const prepare = async (
    client: MCPClient,
    server: StdioServer,
    reason: ConnectionStart["reason"],
  ) => {
    if (session.onStart === undefined) return;
    const startMs = timeouts.startMs ?? 60_000;
    const timeout = AbortSignal.timeout(startMs);
    const abortSignal = AbortSignal.any([ownContext.abortSignal, timeout]);
    const aborted = Promise.withResolvers<never>();
    const onAbort = () => aborted.reject(abortSignal.reason);
    abortSignal.addEventListener("abort", onAbort, { once: true });
    try {
      const hook = session.onStart({ ...ownContext, reason, client, abortSignal });
      await Promise.race([hook, aborted.promise, server.ended]);
      // The hook may have caught the failure of a request that met the end.
      if (server.end !== undefined) throw new Error(`The server ${describeEnd(server.end)}.`);
    } catch (cause) {
      emit({ type: "start-failed", connection: name, reason });
      const why = timeout.aborted ? `did not end within ${startMs} ms` : "failed";
      throw errors.unavailable(
        `was not prepared: onStart ${why}; the cause says more. Its process was ended, and the next use starts another.`,
        { cause, field: "onStart", output: server.output() },
      );
    } finally {
      abortSignal.removeEventListener("abort", onAbort);
    }
  };

  const startNext = async (): Promise<{ server: StdioServer; client: MCPClient }> => {
    const reason = isLost ? "recovered" : "started";
    // What is left of the one before may hold a port, or the lock of a browser's profile.
    await Promise.all([...servers].map((server) => server.close()));
    ownContext.abortSignal.throwIfAborted();
    const { server, client: raw } = await connect();
    const client = withSessionErrors(raw, (error) => {
      const own = restoreError(error);
      if (McpSessionError.isInstance(own) || server.end === undefined) return own;
      return errors.lost(
        `${describeEnd(server.end)}, and this client with it. Ask the registry for client(${JSON.stringify(name)}) again.`,
        { cause: error },
      );
    });
    try {
      await prepare(client, server, reason);
    } catch (error) {
      void server.close();
      throw error;
    }
    const { protocolVersion, capabilities } = client.initializeResult;
    const before = negotiated;
    negotiated = JSON.stringify([protocolVersion, capabilities]);
    const changed = before !== undefined && before !== negotiated;
    hasLossNotice ||= reason === "recovered";
    isUnproven = reason === "recovered";
    isLost = false;
    emit({ type: reason, connection: name, protocolVersion, changed });
    return { server, client };
  };

  /** Sees the end of a server that nobody asked to end. */
  const watch = async (server: StdioServer, opened: Promise<MCPClient>) => {
    await server.exited;
    openings.delete(opened);
    if (opening === opened) opening = undefined;
    if (server.isClosed || !isActive()) return;
    isLost = true;
    const end = await server.ended;
    const { exitCode, signal } = end.type === "ended" ? end : { exitCode: null, signal: null };
    emit({ type: "lost", connection: name, exitCode, signal });
  };

  const openNext = async (note: NoteDetails): Promise<MCPClient> => {
    const wasLost = isLost;
    if (wasLost && session.recover === false) {
      throw errors.lost("is gone, with what it held, and is not to be started again.");
    }
    if (wasLost && isUnproven) {
      isUnproven = false;
      throw errors.lost(
        "ended again before it had answered anything. What it held is gone; the next use starts it once more.",
      );
    }
    try {
      const opened = await startNext();
      void watch(opened.server, opening!);
      note({ protocolVersion: opened.client.initializeResult.protocolVersion });
      return opened.client;
    } catch (error) {
      ownContext.abortSignal.throwIfAborted();
      const why = McpSessionError.isInstance(error)
        ? error
        : errors.unavailable(`could not be started: ${(error as Error).message}`, { cause: error });
      if (!wasLost) throw connectionUnavailable(why, name, stdioOrigin(options));
      throw errors.lost(
        `is gone, with what it held, and could not be started again. ${why.message}`,
        { cause: why },
      );
    }
  };

  const connection: LiveConnection = {
    name,
    definition: { options },
    origin: stdioOrigin(options),
    connectMs,
    session: "process",
    abortSignal: context.abortSignal,
    openings,
    restoreError,
    trace,
    withKept: (open) => open(connection),
    renew: () => undefined,
    createFetch(): never {
      throw new McpSessionError(
        "CONNECTION_INVALID",
        `Connection ${name} runs over stdio, where there is nothing to fetch. Use client(${JSON.stringify(name)}), or put the server behind Streamable HTTP.`,
        { data: { field: "name", connection: name } },
      );
    },
    lossNotices: createLossNotices(
      [
        {
          takeLossNotice() {
            const hadNotice = hasLossNotice;
            hasLossNotice = false;
            return hadNotice;
          },
        },
      ],
      session.lossNotice,
    ),
    async probe(signal) {
      const client = await connection.client();
      // There is nothing smaller that the client sends.
      if (client.initializeResult.capabilities.tools == null) return;
      await client.listTools({ options: { signal } });
    },
    client() {
      if (opening === undefined) {
        const connecting: Promise<MCPClient> = Promise.resolve()
          .then(() => trace({ operation: isLost ? "recover" : "connect" }, openNext))
          .catch((error: unknown) => {
            openings.delete(connecting);
            if (opening === connecting) opening = undefined;
            throw error;
          });
        opening = connecting;
        openings.add(connecting);
      }
      return opening;
    },
    async withRecovery(tool, attempt) {
      try {
        return await attempt();
      } catch (error) {
        const failure = restoreError(error);
        const isEnd = McpSessionError.isInstance(failure) && failure.code === "OUTCOME_UNKNOWN";
        const { resend = "safe" } = session;
        const isSafe = tool === undefined || toolMayRunTwice(tool, session);
        if (!isEnd || resend === "never" || (resend === "safe" && !isSafe)) throw error;
        return await attempt();
      }
    },
    async settle() {
      // There is nothing to save: whoever is still waiting waits for nothing.
      closing.abort(new DOMException("The registry was disposed of.", "AbortError"));
      await Promise.allSettled(openings);
    },
    async endLooseSessions() {
      await Promise.all([...servers].map((server) => server.close()));
    },
  };
  return connection;
}
