import { McpSessionError } from "@durable-mcp/core";
import { maxTimerMs } from "@durable-mcp/core/internal";
import {
  clientInfo,
  connectionUnavailable,
  type LiveConnection,
} from "@durable-mcp/sessions/internal";
import type { McpClientConnection } from "@durable-mcp/sessions";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ErrorCode } from "@modelcontextprotocol/sdk/types.js";
import { closeAfterCancellations, trackCancellations } from "./client/cancellations.ts";
import type { ToolClient } from "./tool-client.ts";

/**
 * Connects an SDK client on the connection's fetch, and thus in its session.
 *
 * @throws {McpSessionError} `CONNECTION_UNAVAILABLE`, or another code with the reason
 */
export async function openSdkClient(
  connection: LiveConnection,
  { options }: McpClientConnection,
  onClose: () => void,
): Promise<ToolClient> {
  const { url, capabilities = {} } = options;
  const { name, version } = clientInfo(options);
  const client = new Client({ name, version }, { capabilities });
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    fetch: connection.createFetch({ isTraced: true }),
  });
  const cancellations = trackCancellations(transport);
  const connect = async (note: (details: { protocolVersion?: string | undefined }) => void) => {
    await connection.inConnectTime(connection.abortSignal, (signal) =>
      client.connect(transport, { signal, timeout: maxTimerMs }),
    );
    note({ protocolVersion: transport.protocolVersion });
    return { close };
  };
  const close = () => closeAfterCancellations(client, transport, cancellations);
  const opening = connection.trace({ operation: "connect" }, connect);
  connection.openings.add(opening);
  try {
    await opening;
  } catch (error) {
    connection.openings.delete(opening);
    const { origin, restoreError } = connection;
    throw connectionUnavailable(restoreError(error), connection.name, origin);
  }
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- It is not an event target.
  client.onclose = () => {
    connection.openings.delete(opening);
    onClose();
  };
  return {
    async listTools(params, requestOptions) {
      if (client.getServerCapabilities()?.tools == null) return { tools: [] };
      return await client.listTools(params, requestOptions);
    },
    callTool: (...call) => client.callTool(...call),
    readResource: (...request) => client.readResource(...request),
  };
}

/**
 * Whether the server speaks what this client does not. If it only knows HTTP+SSE, it answers the POST of
 * `initialize` with one of these statuses. One that only speaks revisions without sessions does not know the method;
 * the session fetch knows it by more.
 */
export function isOtherServer(error: unknown): boolean {
  if (!McpSessionError.isInstance(error)) return false;
  const { reason, status = 0 } = error.data;
  const { code } = (error.cause ?? {}) as { code?: unknown };
  const isRefused = [400, 404, 405].includes(status) || code === ErrorCode.MethodNotFound;
  return reason === "other-era" || (reason === "refused" && isRefused);
}
