import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { McpConnection } from "@durable-mcp/sessions";
import { isRecord, oneLine } from "@durable-mcp/core/internal";
import { CommandFailure } from "../output/command-failure.ts";
import type { DeclaredServer } from "./declared-server.ts";

/** Loads a module, and finds the connections that it exports, alone or in records. @throws {CommandFailure} */
export async function readConnectionsModule(path: string): Promise<DeclaredServer[]> {
  const exported: object = await import(pathToFileURL(resolve(path)).href).catch((error: Error) => {
    const why = oneLine(error.message);
    throw new CommandFailure(`--connections: the module cannot be loaded. It says: ${why}`);
  });
  const found = [exported, ...Object.values(exported)].filter(isRecord).flatMap(Object.entries);
  const connections = new Map(found.filter(([, value]) => isConnection(value)));
  if (connections.size === 0)
    throw new CommandFailure(
      "--connections: the module exports no connection, and no record of connections.",
    );
  return Array.from(connections, ([name, value]) => {
    return { name: oneLine(name), connection: value as McpConnection, entry: {} };
  });
}

function isConnection(value: unknown): boolean {
  const { type, options } = isRecord(value) ? value : {};
  return (type === "mcp-client" || type === "mcp-stdio") && isRecord(options);
}
