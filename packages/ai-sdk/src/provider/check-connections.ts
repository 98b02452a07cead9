import { invalid, invalidOption } from "@durable-mcp/core/internal";
import type { McpConnection } from "../connection/mcp-connection.ts";

const namePattern = /^[a-z][a-z0-9]*([_-][a-z0-9]+)*$/;

/**
 * Checks an application's record of connections.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`
 */
export function checkConnections(connections: unknown): void {
  // A promise or a map is refused too, because either would count as an empty record.
  if (Object.prototype.toString.call(connections) !== "[object Object]") {
    throw invalidOption(
      "connections",
      "must be a record of connections, or a function of the principal that returns one",
    );
  }
  for (const [name, connection] of Object.entries(connections as object)) {
    const field = `connections.${name}`;
    if (!namePattern.test(name)) {
      throw invalid(
        field,
        `${field}: a connection's name must be lower-case letters and digits, in parts joined by single "_" or "-", starting with a letter.`,
      );
    }
    const type = (connection as McpConnection | undefined)?.type;
    if (type !== "mcp-client" && type !== "mcp-stdio") {
      throw invalidOption(
        field,
        "must be made by defineMcpClientConnection or defineMcpStdioConnection",
      );
    }
  }
}
