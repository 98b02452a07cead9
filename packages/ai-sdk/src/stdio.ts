export type { McpStdioConnection } from "./connection/stdio-connection-options.ts";
export {
  defineMcpStdioConnection,
  fromMcpServers,
  type McpStdioConnectionOptions,
  type StdioSessionOptions,
} from "./client/define-stdio-connections.ts";
