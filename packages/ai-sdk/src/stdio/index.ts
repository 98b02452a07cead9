export {
  type McpStdioConnection,
  type McpStdioConnectionOptions,
  type StdioSessionOptions,
} from "../connection/stdio-connection-options.ts";
export { defineMcpStdioConnection } from "./define-stdio-connection.ts";
export { fromMcpServers } from "./from-mcp-servers.ts";
