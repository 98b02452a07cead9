import { invalid } from "@durable-mcp/core/internal";
import type { ConnectionToolSchemas, ToolNamePrefix } from "./tool-options.ts";
import { type DeclaredClient, isStateful, type McpClientConnection } from "./define-connection.ts";
import type { McpStdioConnection } from "./stdio-connection-options.ts";

/** A declared MCP server of any kind. */
export type McpConnection<
  SCHEMAS extends ConnectionToolSchemas | undefined = ConnectionToolSchemas | undefined,
  PREFIX extends ToolNamePrefix = ToolNamePrefix,
> = McpClientConnection<SCHEMAS, PREFIX> | McpStdioConnection<SCHEMAS, PREFIX>;

/** Declared servers by name. */
export type Connections = Record<string, McpConnection>;

/** The declared connection of a name from outside. */
export function findDeclared<CONNECTION extends McpConnection>(
  declared: Readonly<Record<string, CONNECTION>>,
  name: string,
): CONNECTION | undefined {
  return Object.hasOwn(declared, name) ? declared[name] : undefined;
}

/** The same. @throws {McpSessionError} `CONNECTION_INVALID` @param field the argument with the name */
export function requireDeclared<CONNECTION extends McpConnection>(
  declared: Readonly<Record<string, CONNECTION>>,
  name: string,
  field: string,
): CONNECTION {
  const found = findDeclared(declared, name);
  if (found === undefined) throw notDeclared(name, Object.keys(declared), field);
  return found;
}

/** `CONNECTION_INVALID` for a name that is not declared. @param field the argument with the name */
export function notDeclared(name: string, declared: readonly string[], field: string) {
  const own = JSON.stringify(name);
  return invalid(field, `There is no connection ${own}. Declared: ${declared.join(", ")}.`);
}

/** Whether a connection's session can last over steps. */
export function hasSession(
  definition?: McpConnection | DeclaredClient,
): definition is McpClientConnection {
  return definition?.type === "mcp-client" && isStateful(definition);
}

/** Whether anything of a connection lasts over steps: its session, or what its server allows to keep. */
export function hasSlot(definition?: McpConnection): definition is McpClientConnection {
  if (definition?.type !== "mcp-client") return false;
  return isStateful(definition) || definition.options.memory !== undefined;
}

/** Whether a name may stand for something of a connection: a session, or a stdio server's process. */
export function mayHaveName(definition?: McpConnection): definition is McpConnection {
  return definition?.type === "mcp-stdio" || hasSession(definition);
}

/** The connections with a server behind a URL. Only their sessions can be kept. */
export function clientConnections(
  declared: Readonly<Connections>,
): Record<string, McpClientConnection> {
  const entries = Object.entries(declared).flatMap(([name, connection]) =>
    connection.type === "mcp-client" ? [[name, connection] as const] : [],
  );
  return Object.fromEntries(entries);
}

/** The declared connections, for prompts and menus. */
export function describeDeclared(declared: Connections) {
  return Object.entries(declared).map(([name, definition]) => {
    const isProcess = definition.type === "mcp-stdio";
    const session = isProcess ? "process" : isStateful(definition) ? "stateful" : "stateless";
    return { name, description: definition.options.description, session } as const;
  });
}
