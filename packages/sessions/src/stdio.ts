export { defineMcpStdioConnection } from "./stdio/define-stdio-connection.ts";
export type {
  McpStdioConnection,
  McpStdioConnectionOptions,
  StdioSessionOptions,
} from "./declare/stdio-connection-options.ts";
