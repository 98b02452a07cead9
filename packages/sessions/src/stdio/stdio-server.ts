import type { McpSessionError } from "@durable-mcp/core";
import { isRecord, scrubJson } from "@durable-mcp/core/internal";
import type { ClientOpener } from "../base/mcp-client.ts";
import { askForProgress, takeOut, takeProgress } from "../connection/call-envelope.ts";
import { createConnectionSecrets } from "../connection/connection-secrets.ts";
import type { ConnectionStep } from "../connection/live-connection.ts";
import { createPausableLimits } from "../connection/pausable-limits.ts";
import type { McpStdioConnectionOptions } from "../declare/stdio-connection-options.ts";
import { addTraceContext } from "../events/connection-telemetry.ts";
import type { DropReason } from "./server-message.ts";
import { createStdioErrors } from "./stdio-errors.ts";
import { createServerLife } from "./server-life.ts";
import { startServer } from "./start-server.ts";
import { createStdioTransport } from "./stdio-transport.ts";

/** Ends servers, and waits until they are gone. */
export async function closeServers(servers: StdioParts["servers"]): Promise<void> {
  await Promise.all([...servers].map((server) => server.close()));
}

export interface StdioStep extends ConnectionStep {
  readonly options: McpStdioConnectionOptions;
  readonly opener: ClientOpener;
}

/** Of a request that met the server's end, or an answer that is of no use. */
interface RequestFailure {
  readonly error: McpSessionError;
  readonly met: "end" | "answer";
}

export type StdioParts = ReturnType<typeof createStdioParts>;

/** What the servers of one connection have in common. */
export function createStdioParts(step: StdioStep) {
  const { options, context, secrets = createConnectionSecrets() } = step;
  const closing = new AbortController();
  const abortSignal = AbortSignal.any([context.abortSignal, closing.signal]);
  return {
    ...step,
    secrets,
    emit: ((event) => step.emit(secrets.scrubEvent(event))) satisfies StdioStep["emit"],
    context: { ...context, abortSignal },
    closing,
    connectMs: options.timeouts?.connectMs ?? 30_000,
    callLimits: createPausableLimits(),
    errors: createStdioErrors(context.connection, options),
    life: createServerLife(step.isAfterEnd, step.now),
    /** The servers that may still have a process. */
    servers: new Set<{ close(): Promise<void> }>(),
    /** Why requests failed, by the `data` of the client's own errors. */
    failures: new WeakMap<object, RequestFailure>(),
  };
}

export type StdioServer = Awaited<ReturnType<typeof startStdioServer>>;

/** Starts a server. It lives until all its processes have ended. */
export async function startStdioServer(parts: StdioParts) {
  const { context, errors, failures, telemetry, life, servers, secrets, emit } = parts;
  const { connection } = context;
  const { process, ended, end, output, noteDropped } = await startServer(parts);
  const reported = new Set<DropReason>();

  const transport = createStdioTransport(process, {
    failureData({ method }, why) {
      // The client passes this object on. A server cannot send one that is in `failures`.
      const data = {};
      failures.set(
        data,
        why === undefined
          ? { error: errors.outcomeUnknown(method, end()!, output()), met: "end" }
          : { error: errors.unusable(method, why), met: "answer" },
      );
      return data;
    },
    notReading: () => errors.notReading(output()),
    onAnswer: ({ method }) => {
      if (method !== "initialize" && method !== "server/discover") life.answered();
    },
    onNotification: (method, params) => tellNotification(parts, method, params),
    onDropped(line, reason) {
      noteDropped(line, reason);
      if (!reported.has(reason)) emit({ type: "line-dropped", connection, reason });
      reported.add(reason);
    },
    toServer: (message) => addTraceContext(takeOut(askForProgress(message)), telemetry),
    toClient: (error) => scrubJson(error, secrets.scrub, ["code", "message", "data"]) as object,
  });

  const server = {
    transport,
    output,
    /** Settles when the server's own process has ended. */
    exited: process.exited,
    /** Settles when all its processes have ended. */
    ended,
    /** Whether a request waits for its answer. */
    isBusy: transport.isBusy,
    /** Whether it ended because it was told to. */
    isClosed: transport.isClosed,
    /** How it ended, if it has. */
    get end() {
      return end();
    },
    close: async () => await transport.close(),
  };
  servers.add(server);
  void ended.then(() => servers.delete(server));
  return server;
}

/** Tells the application of a notification, and followed calls of their progress. */
function tellNotification(parts: StdioParts, method: string, said: unknown) {
  const { context, secrets, emit } = parts;
  const from = { connection: context.connection };
  if (takeProgress({ method, params: said }, secrets.scrub)) return;
  emit({ type: "notification", ...from, method, params: isRecord(said) ? said : undefined });
  if (method !== "notifications/tools/list_changed") return;
  emit({ type: "tools-changed", ...from, reason: "list-changed" });
}
