import { createMCPClient, type MCPClient, type MCPTransport } from "@ai-sdk/mcp";
import { McpSessionError } from "@durable-mcp/core";
import { isRecord, scrubJson, withTimeLimit } from "@durable-mcp/core/internal";
import { answerElicitations, clientDescription } from "../connection/client-capabilities.ts";
import { oncePer } from "../base/once.ts";
import { askForProgress, takeOut, takeProgress } from "../connection/call-envelope.ts";
import { hiddenValues } from "../connection/hidden-values.ts";
import type { ConnectionStep } from "../connection/live-connection.ts";
import type { McpStdioConnectionOptions } from "../connection/stdio-connection-options.ts";
import { scrubError, scrubSecrets } from "../events/scrub-secrets.ts";
import { addTraceContext } from "../events/connection-telemetry.ts";
import { resolveEnvironment, secretValues } from "./server-environment.ts";
import type { DropReason } from "./server-message.ts";
import {
  createOutputTail,
  createStdioErrors,
  describeDropped,
  type ServerOutput,
} from "./stdio-errors.ts";
import { createServerLife } from "./server-life.ts";
import { createStdioTransport } from "./stdio-transport.ts";
import { type ProcessEnd, startSupervisedProcess } from "./supervised-process.ts";

/** The server refuses `initialize`: it only speaks revisions that have none. */
const unsupportedVersion = -32022;

/** A server, from its start until all its processes have ended. */
export interface StdioServer {
  /** Makes the handshake. @throws {McpSessionError} `CONNECTION_UNAVAILABLE` */
  connect(discover: boolean): Promise<MCPClient>;
  /** Settles when the server's own process has ended. */
  readonly exited: Promise<void>;
  /** Settles when all its processes have ended. */
  readonly ended: Promise<ProcessEnd>;
  /** How it ended, if it has. */
  readonly end: ProcessEnd | undefined;
  /** Whether it ended because it was told to. */
  readonly isClosed: boolean;
  /** Whether a request waits for its answer. */
  readonly isBusy: () => boolean;
  readonly output: () => ServerOutput;
  close(): Promise<void>;
}

/** Ends servers, and waits until they are gone. */
export async function closeServers(servers: ReadonlySet<StdioServer>): Promise<void> {
  await Promise.all([...servers].map((server) => server.close()));
}

export type StdioStep = ConnectionStep & { readonly options: McpStdioConnectionOptions };

/** Of a request that met the server's end, or an answer that is of no use. */
interface RequestFailure {
  readonly error: McpSessionError;
  readonly met: "end" | "answer";
}

export type StdioParts = ReturnType<typeof createStdioParts>;

/** What the servers of one connection have in common. */
export function createStdioParts(step: StdioStep) {
  const { options, context } = step;
  const closing = new AbortController();
  const abortSignal = AbortSignal.any([context.abortSignal, closing.signal]);
  return {
    ...step,
    context: { ...context, abortSignal },
    closing,
    connectMs: options.timeouts?.connectMs ?? 30_000,
    errors: createStdioErrors(context.connection, options),
    life: createServerLife(step.isAfterEnd, step.now),
    /** The servers that may still have a process. */
    servers: new Set<StdioServer>(),
    /** Why requests failed, by the `data` of the client's own errors. */
    failures: new WeakMap<object, RequestFailure>(),
  };
}

async function startStdioServer(parts: StdioParts): Promise<StdioServer> {
  const { options, context, errors, failures, telemetry, life, servers, emit } = parts;
  const { connection } = context;
  const env = await resolveEnvironment(parts);
  // The registry may have ended meanwhile, and then nobody would end the server.
  context.abortSignal.throwIfAborted();
  const args = options.args ?? [];
  const secrets = secretValues(env, args);
  const scrub = (text: string) => scrubSecrets(text, [...secrets, ...hiddenValues(options)]);
  const process = startSupervisedProcess({
    command: options.command,
    args,
    env,
    cwd: options.cwd,
    closeMs: options.timeouts?.closeMs ?? 1_000,
  });
  const stderr = createOutputTail(scrub);
  const strays = createOutputTail(scrub);
  process.stderr.setEncoding("utf8").on("data", (text: string) => stderr.append(text));
  const output = () => ({ stderr: stderr.quote(), strays: strays.quote() });

  let end: ProcessEnd | undefined;
  let isClosed = false;
  const ended = process.ended.then((how) => (end = how));
  const report = oncePer((reason: DropReason) =>
    emit({ type: "line-dropped", connection, reason }),
  );

  const transport = createStdioTransport(process, {
    failureData({ method }, why) {
      // The client passes this object on. A server cannot send one that is in `failures`.
      const data = {};
      failures.set(
        data,
        why === undefined
          ? { error: errors.outcomeUnknown(method, end!, output()), met: "end" }
          : { error: errors.unusable(method, why), met: "answer" },
      );
      return data;
    },
    notReading: () => errors.notReading(output()),
    onAnswer: ({ method }) => {
      if (method !== "initialize" && method !== "server/discover") life.answered();
    },
    onNotification: (method, params) => tellNotification(parts, method, scrubJson(params, scrub)),
    onDropped(line, reason) {
      strays.append(describeDropped(line, reason));
      report(reason);
    },
    toClient: (error) => scrubJson(error, scrub, ["code", "message", "data"]) as object,
  });
  const send = transport.send.bind(transport);
  transport.send = (message, how) =>
    send(addTraceContext(takeOut(askForProgress(message)), telemetry), how);
  const close = transport.close.bind(transport);
  transport.close = async () => {
    isClosed = true;
    await close();
  };

  const server: StdioServer = {
    exited: process.exited,
    ended,
    isBusy: transport.isBusy,
    output,
    get isClosed() {
      return isClosed;
    },
    get end() {
      return end;
    },
    close: async () => await transport.close(),
    connect: (discover) => connectClient(parts, server, transport, secrets, discover),
  };
  servers.add(server);
  void ended.then(() => servers.delete(server));
  return server;
}

/** Tells the application of a notification without secrets, and followed calls of their progress. */
function tellNotification(parts: StdioParts, method: string, said: unknown) {
  const { context, emit } = parts;
  const from = { connection: context.connection };
  if (takeProgress(method, said, (text) => text)) return;
  emit({ type: "notification", ...from, method, params: isRecord(said) ? said : undefined });
  if (method !== "notifications/tools/list_changed") return;
  emit({ type: "tools-changed", ...from, reason: "list-changed" });
}

async function connectClient(
  { options, context, errors, connectMs, failures }: StdioParts,
  server: StdioServer,
  transport: MCPTransport,
  secrets: readonly string[],
  discover: boolean,
): Promise<MCPClient> {
  const signal = withTimeLimit(connectMs, context.abortSignal);
  try {
    const client = await createMCPClient({
      transport,
      ...clientDescription(options),
      protocolVersionDiscovery: discover,
      initializationOptions: { signal },
    });
    answerElicitations(client, options, context);
    return client;
  } catch (error) {
    if (isUnsupportedVersion(error) && !discover) throw error;
    context.abortSignal.throwIfAborted();
    const { end } = server;
    if (end?.type === "not-started") throw errors.notStarted(end.reason);
    const { data } = error as { data?: object };
    if (end && failures.get(data ?? {})?.met === "end")
      throw errors.endedEarly(end, server.output());
    if (signal.aborted) throw errors.silent(connectMs, server.output(), error);
    const cause = scrubError(error, secrets) as Error;
    throw errors.refused(cause.message, server.output(), cause);
  }
}

function isUnsupportedVersion(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === unsupportedVersion;
}

/** A running server, and a client after its handshake. */
export interface OpenServer {
  readonly server: StdioServer;
  readonly client: MCPClient;
}

/** Starts a server and makes the handshake. A server without `initialize` is started once more. */
export async function connectServer(parts: StdioParts): Promise<OpenServer> {
  const connect = async (discover: boolean) => {
    const server = await startStdioServer(parts);
    try {
      return { server, client: await server.connect(discover) };
    } catch (error) {
      void server.close();
      throw error;
    }
  };
  try {
    return await connect(false);
  } catch (error) {
    if (!isUnsupportedVersion(error)) throw error;
    return await connect(true);
  }
}
