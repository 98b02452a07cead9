import { invalid, invalidOption } from "@durable-mcp/core/internal";
import type { Connections, McpConnection } from "../declare/mcp-connection.ts";
import { sameName } from "../tools/same-names.ts";
import { prefixOf } from "../tools/tool-name.ts";

/** The name of a connection. */
export const connectionName = /^[a-z][A-Za-z0-9]*([_-][A-Za-z0-9]+)*$/;

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
  const names = new Map<string, string>();
  for (const [name, connection] of Object.entries(connections as object)) {
    const field = `connections.${name}`;
    if (!connectionName.test(name)) {
      throw invalid(
        field,
        `${field}: a connection's name must be letters and digits, in parts joined by single "_" or "-", starting with a lower-case letter.`,
      );
    }
    const type = (connection as McpConnection | undefined)?.type;
    if (type !== "mcp-client" && type !== "mcp-stdio") {
      throw invalidOption(
        field,
        "must be made by defineMcpClientConnection or defineMcpStdioConnection",
      );
    }
    const same = names.get(name.toLowerCase());
    if (same !== undefined) {
      throw invalid(
        field,
        `${field}: connection ${same} has the same name but for upper and lower case, so environment variables and files named after them would be the same. Give one of them another name.`,
      );
    }
    names.set(name.toLowerCase(), name);
  }
  refuseCollisions(connections as Connections);
}

/** Refuses tools of one name that the definitions themselves name. */
function refuseCollisions(connections: Connections): void {
  const taken = new Map<string, { connection: string; tool: string }>();
  for (const [connection, { options }] of Object.entries(connections)) {
    for (const tool of new Set(declaredTools(options))) {
      const name = prefixOf(connection, options) + tool;
      const other = taken.get(name);
      const own = { connection, tool };
      if (other && other.connection !== connection) {
        throw sameName(name, [other, own], `connections.${connection}.toolNames`);
      }
      taken.set(name, own);
    }
  }
}

/** The tools that a definition offers by name. The others are known when the server lists them. */
function declaredTools({ schemas, tools }: McpConnection["options"]): readonly string[] {
  const allowed = tools && "allow" in tools ? tools.allow : undefined;
  const blocked = tools && "block" in tools ? tools.block : [];
  if (schemas === undefined) return allowed ?? [];
  return Object.keys(schemas).filter((tool) => allowed?.includes(tool) ?? !blocked.includes(tool));
}
