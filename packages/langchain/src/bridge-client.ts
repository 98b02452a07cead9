import type { LiveConnection } from "@durable-mcp/sessions/internal";
import {
  CallToolResultSchema,
  ListToolsResultSchema,
  ReadResourceResultSchema,
} from "@modelcontextprotocol/sdk/types.js";
import type { ToolClient } from "./tool-client.ts";

/**
 * The connection's own client in the form of an SDK client, for connections without a fetch. It reports
 * no progress.
 */
export function bridgeClient(connection: LiveConnection): ToolClient {
  return {
    async listTools(params, options) {
      const client = await connection.client();
      if (client.initializeResult.capabilities.tools == null) return { tools: [] };
      const cursor = params?.cursor;
      const listed = await client.listTools({
        ...(cursor !== undefined && { params: { cursor } }),
        ...signalOf(options),
      });
      return ListToolsResultSchema.parse(listed);
    },
    async callTool({ name, arguments: input }, _resultSchema, options) {
      const client = await connection.client();
      const result = await client.callTool({
        name,
        ...(input && { arguments: input }),
        ...signalOf(options),
      });
      return CallToolResultSchema.parse(result);
    },
    async readResource({ uri }, options) {
      const client = await connection.client();
      return ReadResourceResultSchema.parse(
        await client.readResource({ uri, ...signalOf(options) }),
      );
    },
  };
}

function signalOf(options: { signal?: AbortSignal } | undefined) {
  return options?.signal && { options: { signal: options.signal } };
}
