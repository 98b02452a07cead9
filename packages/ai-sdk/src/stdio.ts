export type { McpStdioConnection } from "@durable-mcp/sessions/stdio";
export {
  defineMcpStdioConnection,
  fromMcpServers,
  type McpStdioConnectionOptions,
  type StdioSessionOptions,
} from "./client/define-stdio-connections.ts";
