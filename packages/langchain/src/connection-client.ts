import type { McpClientConnection } from "@durable-mcp/sessions";
import type { LiveConnection } from "@durable-mcp/sessions/internal";
import { bridgeClient } from "./bridge-client.ts";
import { isOtherServer, openSdkClient } from "./sdk-client.ts";
import type { ToolClient } from "./tool-client.ts";

/** The first revision that the SDK client does not speak. */
const firstWithDiscovery = "2026-07-28";

/** `undefined` for a server that the SDK client cannot talk to. */
const sdkClients = new WeakMap<LiveConnection, Promise<ToolClient | undefined>>();

/**
 * The client of a connection. All tools of the connection share it. It connects on first use and closes
 * with the connection, which a pool may keep. A failure is not kept.
 */
export async function connectionClient(connection: LiveConnection): Promise<ToolClient> {
  const definition = sdkDefinition(connection);
  if (definition === undefined) return bridgeClient(connection);
  const open = (kept: LiveConnection) => sdkClient(kept, definition);
  const client = await connection.withKept(open);
  return client ?? bridgeClient(connection);
}

function sdkClient(
  connection: LiveConnection,
  definition: McpClientConnection,
): Promise<ToolClient | undefined> {
  const found = sdkClients.get(connection);
  if (found !== undefined) return found;
  const forget = () => sdkClients.delete(connection);
  const connecting = openSdkClient(connection, definition, forget).catch((error: unknown) => {
    if (isOtherServer(error)) return undefined;
    forget();
    throw error;
  });
  sdkClients.set(connection, connecting);
  return connecting;
}

/**
 * The definition, if an SDK client can do everything in it. Over stdio there is no fetch. OAuth and
 * elicitation are defined for the connection's own client. Calls that wait for a person need a revision
 * that the SDK client does not speak, and some servers are known to speak no other.
 */
function sdkDefinition(connection: LiveConnection): McpClientConnection | undefined {
  if (connection.session === "process") return undefined;
  const definition = connection.definition as McpClientConnection;
  const { authProvider, onElicitation, waiting } = definition.options;
  const isForOwn =
    authProvider !== undefined || onElicitation !== undefined || waiting !== undefined;
  const { kind, protocolVersion = "" } = connection.manage.inspect();
  const isRefused =
    kind === "stateless" || (kind === "remembered" && protocolVersion >= firstWithDiscovery);
  return isForOwn || isRefused ? undefined : definition;
}
