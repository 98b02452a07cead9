import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { McpConnection } from "@durable-mcp/ai-sdk";
import { isRecord, oneLine } from "@durable-mcp/core/internal";
import { CommandFailure } from "../output/command-failure.ts";
import type { DeclaredServer } from "./mcp-json.ts";

/**
 * Loads a module, and finds the connections in its exports: those that it exports, and those of records.
 *
 * @throws {CommandFailure} for a module that cannot be loaded, or has none
 */
export async function readConnectionsModule(
  path: string,
  option: string,
): Promise<DeclaredServer[]> {
  const exported = await load(path, option);
  const found = Object.entries(exported).flatMap(([name, value]): [string, unknown][] =>
    isRecord(value) && !isConnection(value) ? Object.entries(value) : [[name, value]],
  );
  const connections = new Map(found.filter(([, value]) => isConnection(value)));
  if (connections.size === 0)
    throw new CommandFailure(
      `${option}: the module exports no connection, and no record of connections. Export what your application uses.`,
    );
  return Array.from(connections, ([name, connection]) => ({
    ...{ name: oneLine(name), entry: {}, unknown: [] },
    connection: connection as McpConnection,
  }));
}

async function load(path: string, option: string): Promise<object> {
  try {
    return (await import(pathToFileURL(resolve(path)).href)) as object;
  } catch (error) {
    const why = oneLine(error instanceof Error ? error.message : String(error));
    throw new CommandFailure(`${option}: the module cannot be loaded. It says: ${why}`);
  }
}

function isConnection(value: unknown): boolean {
  const { type, options } = isRecord(value) ? value : {};
  return (type === "mcp-client" || type === "mcp-stdio") && isRecord(options);
}
