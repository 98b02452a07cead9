export {
  defineMcpStdioConnection,
  type McpStdioConnection,
  type McpStdioConnectionOptions,
  type StdioSessionOptions,
} from "./define-stdio-connection.ts";
