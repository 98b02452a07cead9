import type { MCPClient } from "@ai-sdk/mcp";
import { abortable, withTimeLimit } from "@durable-mcp/core/internal";
import type { ConnectionContext } from "../connection/connection-options.ts";
import type { ConnectionStart } from "../connection/session-options.ts";
import type { McpStdioConnectionOptions } from "../connection/stdio-connection-options.ts";
import { describeEnd, type StdioErrors } from "./stdio-errors.ts";
import { isUnsupportedVersion, type StdioServer } from "./stdio-server.ts";

/** A running server, and a client after its handshake. */
export interface OpenServer {
  readonly server: StdioServer;
  readonly client: MCPClient;
}

/** Starts a server and makes the handshake. A server without `initialize` is started once more. */
export async function connectServer(start: () => Promise<StdioServer>): Promise<OpenServer> {
  const connect = async (discover: boolean) => {
    const server = await start();
    try {
      return { server, client: await server.connect({ discover }) };
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

/**
 * Runs `session.onStart` before anything else is sent.
 *
 * @throws {McpSessionError} `CONNECTION_UNAVAILABLE`
 */
export async function prepareServer({
  opened: { server, client },
  reason,
  options: { session, timeouts },
  context,
  errors,
  onFailure,
}: {
  opened: OpenServer;
  reason: ConnectionStart["reason"];
  options: McpStdioConnectionOptions;
  context: ConnectionContext;
  errors: StdioErrors;
  onFailure: () => void;
}): Promise<void> {
  if (session?.onStart === undefined) return;
  const startMs = timeouts?.startMs ?? 60_000;
  const abortSignal = withTimeLimit(startMs, context.abortSignal);
  try {
    const hook = session.onStart({ ...context, reason, client, abortSignal });
    await abortable(Promise.race([hook, server.ended]), abortSignal);
    // The hook may have caught the error of a request that met the server's end.
    if (server.end !== undefined) throw new Error(`The server ${describeEnd(server.end)}.`);
  } catch (cause) {
    onFailure();
    const isLate = abortSignal.aborted && !context.abortSignal.aborted;
    const why = isLate ? `did not end within ${startMs} ms` : "failed";
    throw errors.unavailable(
      `was not prepared: onStart ${why}; the cause says more. Its process was ended, and the next use starts another.`,
      { cause, field: "onStart", output: server.output() },
    );
  }
}
