import { McpSessionError } from "@durable-mcp/core";
import { abortable, withTimeLimit } from "@durable-mcp/core/internal";
import type { McpClient } from "../base/mcp-client.ts";
import { inEnvelopes } from "../connection/call-envelope.ts";
import {
  answerElicitations,
  answerRefusals,
  clientDescription,
} from "../connection/client-capabilities.ts";
import type { ConnectionStart } from "../declare/connection-options.ts";
import { withSessionErrors } from "../events/client-errors.ts";
import { connectionUnavailable } from "../events/connection-error.ts";
import { describeEnd, stdioOrigin } from "./stdio-errors.ts";
import {
  closeServers,
  type StdioParts,
  startStdioServer,
  type StdioServer,
} from "./stdio-server.ts";

/** The server refuses `initialize`: it only speaks revisions that have none. */
const unsupportedVersion = -32022;

/** A running server, and a client after its handshake. */
export interface OpenServer {
  readonly server: StdioServer;
  readonly client: McpClient;
}

/** Starts the first server, or one in the place of a lost one. */
export async function openNext(parts: StdioParts): Promise<OpenServer> {
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
  const { context, errors, life, servers, secrets, emit } = parts;
  const { connection } = context;
  // A process of the server before may still hold a port, or the lock of a browser's profile.
  await closeServers(servers);
  context.abortSignal.throwIfAborted();
  const { server, client: raw } = await connectServer(parts);
  const restore = (error: unknown) => {
    const own = restoreStdioError(parts, error);
    if (McpSessionError.isInstance(own) || server.end === undefined) return own;
    return errors.lost(
      `${describeEnd(server.end)}. This client ended with it. Ask the run for client(${JSON.stringify(connection)}) again.`,
      { cause: error },
    );
  };
  const client = withSessionErrors(
    raw,
    restore,
    secrets,
    answerRefusals(parts.options, context, parts.callLimits),
  );
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

/** Starts a server and makes the handshake. A server without `initialize` is started once more. */
async function connectServer(parts: StdioParts): Promise<OpenServer> {
  const connect = async (discover: boolean) => {
    const server = await startStdioServer(parts);
    try {
      return { server, client: await connectClient(parts, server, discover) };
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

async function connectClient(
  { options, context, errors, connectMs, callLimits, failures, secrets, opener }: StdioParts,
  server: StdioServer,
  discover: boolean,
): Promise<McpClient> {
  const signal = withTimeLimit(connectMs, context.abortSignal);
  try {
    const client = await opener.createClient({
      transport: server.transport,
      ...clientDescription(options),
      protocolVersionDiscovery: discover,
      signal,
      ...answerElicitations(options, context, callLimits),
    });
    return inEnvelopes(client);
  } catch (error) {
    if (isUnsupportedVersion(error) && !discover) throw error;
    context.abortSignal.throwIfAborted();
    const { end } = server;
    if (end?.type === "not-started") throw errors.notStarted(end.reason);
    const { data } = error as { data?: object };
    if (end && failures.get(data ?? {})?.met === "end")
      throw errors.endedEarly(end, server.output());
    if (signal.aborted) throw errors.silent(connectMs, server.output(), error);
    const cause = secrets.scrubError(error) as Error;
    throw errors.refused(cause.message, server.output(), cause);
  }
}

function isUnsupportedVersion(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === unsupportedVersion;
}

/** The error of a request that met the server's end, or whose answer is of no use. */
export function restoreStdioError(
  { failures, secrets }: Pick<StdioParts, "failures" | "secrets">,
  error: unknown,
): unknown {
  const data: unknown = (error as { data?: unknown } | null | undefined)?.data;
  return (
    (typeof data === "object" && data !== null && failures.get(data)?.error) ||
    secrets.scrubError(error)
  );
}
