import { McpSessionError } from "@durable-mcp/core";
import { maxTimerMs, within } from "@durable-mcp/core/internal";
import {
  clientInfo,
  connectionUnavailable,
  type McpClientConnection,
  type LiveConnection,
} from "@durable-mcp/ai-sdk/internal";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ErrorCode } from "@modelcontextprotocol/sdk/types.js";
import type { ToolClient } from "./tool-client.ts";

/**
 * A closing client waits this long, in milliseconds, until the server got its cancellations and the end
 * of a session of its own.
 */
const closeTimeoutMs = 2_000;

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
  const close = async () => {
    const isOwnSession = connection.session === "stateless";
    const ending = isOwnSession ? transport.terminateSession() : Promise.resolve();
    await within(closeTimeoutMs, Promise.allSettled([ending, ...cancellations]));
    await client.close();
  };
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

/**
 * The cancellations under way. An aborted run ends at once. If the client closed before it sent its
 * cancellations, the server would continue the calls.
 */
function trackCancellations(transport: StreamableHTTPClientTransport): ReadonlySet<Promise<void>> {
  const sending = new Set<Promise<void>>();
  const send = transport.send.bind(transport);
  transport.send = async (message, options) => {
    const sent = send(message, options);
    if ("method" in message && message.method === "notifications/cancelled") {
      sending.add(sent);
      const forget = () => sending.delete(sent);
      sent.then(forget, forget);
    }
    await sent;
  };
  return sending;
}
