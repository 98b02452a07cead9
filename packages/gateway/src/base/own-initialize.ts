import type { JsonRpcRequest } from "@durable-mcp/core";
import { clientInfo, type McpConnection } from "./centre.ts";

/** Of a session that several clients have: the newest that all clients speak which the gateway was tried with. */
const protocolVersion = "2025-06-18";

/** The `initialize` of a session that several clients have, in the words of the definition. */
export function ownInitialize(id: string | number, { options }: McpConnection): JsonRpcRequest {
  const { capabilities = {} } = options;
  const params = { protocolVersion, capabilities, clientInfo: clientInfo(options) };
  return { jsonrpc: "2.0", id, method: "initialize", params };
}
