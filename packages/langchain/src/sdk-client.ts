import {
  connectionUnavailable,
  type McpClientConnection,
  type RegistryConnection,
  within,
} from "@durable-mcp/ai-sdk/registry-hooks";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import {
  StreamableHTTPClientTransport,
  StreamableHTTPError,
} from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { ToolClient } from "./tool-client.ts";

/** How long a client waits for the server to end a session that was its own, in milliseconds. */
const terminateTimeoutMs = 2_000;

/**
 * Connects an SDK client on the connection's fetch, and so in its session.
 *
 * @throws {McpSessionError} `CONNECTION_UNAVAILABLE`, or the code that says why
 */
export async function openSdkClient(
  connection: RegistryConnection,
  { options: { url, capabilities = {} } }: McpClientConnection,
  onClose: () => void,
): Promise<ToolClient> {
  const client = new Client({ name: "durable-mcp", version: "1.0.0" }, { capabilities });
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    fetch: connection.createFetch(),
  });
  const opening = client
    .connect(transport as Transport, {
      signal: connection.abortSignal,
      timeout: connection.connectMs,
    })
    .then(() => ({ close: () => close(connection, client, transport) }));
  connection.openings.add(opening);
  try {
    await opening;
  } catch (error) {
    connection.openings.delete(opening);
    const { name, origin, restoreError } = connection;
    throw connectionUnavailable(withStatus(restoreError(error)), name, origin);
  }
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- It is no event target.
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

/** A server that only knows HTTP+SSE answers the POST of `initialize` with one of these. */
export function isOldServer(error: unknown): boolean {
  const { cause } = error as { cause?: unknown };
  return cause instanceof RefusedConnect && [400, 404, 405].includes(cause.statusCode);
}

async function close(
  connection: RegistryConnection,
  client: Client,
  transport: StreamableHTTPClientTransport,
): Promise<void> {
  // A session that the client made for itself ends with it.
  if (connection.session === "stateless") {
    await within(
      terminateTimeoutMs,
      transport.terminateSession().catch(() => undefined),
    );
  }
  await client.close();
}

/** Says the HTTP status where the connection looks for it. */
class RefusedConnect extends Error {
  readonly statusCode: number;

  constructor(statusCode: number, cause: Error) {
    super(cause.message, { cause });
    this.statusCode = statusCode;
  }
}

function withStatus(error: unknown): unknown {
  if (!(error instanceof StreamableHTTPError) || error.code === undefined) return error;
  return new RefusedConnect(error.code, error);
}
