import type { McpClientConnection, RegistryConnection } from "@durable-mcp/ai-sdk/registry-hooks";
import { bridgeClient } from "./bridge-client.ts";
import { isOldServer, openSdkClient } from "./sdk-client.ts";
import type { ToolClient } from "./tool-client.ts";

const clients = new WeakMap<RegistryConnection, Promise<ToolClient>>();

/**
 * The client of a connection: one for all tools that are ever loaded from it, connected on first
 * use and closed with the connection. A failure is not kept.
 */
export function connectionClient(connection: RegistryConnection): Promise<ToolClient> {
  const found = clients.get(connection);
  if (found !== undefined) return found;
  const connecting = connect(connection).catch((error: unknown) => {
    clients.delete(connection);
    throw error;
  });
  clients.set(connection, connecting);
  return connecting;
}

async function connect(connection: RegistryConnection): Promise<ToolClient> {
  const definition = sdkDefinition(connection);
  if (definition === undefined) return bridgeClient(connection);
  try {
    return await openSdkClient(connection, definition, () => clients.delete(connection));
  } catch (error) {
    if (!isOldServer(error)) throw error;
    // The connection's own client knows the old HTTP+SSE transport. When it fails too, it says why.
    await connection.client();
    return bridgeClient(connection);
  }
}

/**
 * The definition, when an SDK client can do all it asks for. Over stdio there is no fetch; OAuth
 * and elicitation are defined for the connection's own client.
 */
function sdkDefinition(connection: RegistryConnection): McpClientConnection | undefined {
  if (connection.session === "process") return undefined;
  const definition = connection.definition as McpClientConnection;
  const { authProvider, onElicitation } = definition.options;
  return authProvider === undefined && onElicitation === undefined ? definition : undefined;
}
