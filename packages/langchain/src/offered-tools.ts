import {
  type LiveConnection,
  offeredTools as offered,
  withoutProvided,
} from "@durable-mcp/sessions/internal";
import { listPages, maxTimerMs, uniqueTools } from "@durable-mcp/core/internal";
import type { Tool } from "@modelcontextprotocol/sdk/types.js";
import { connectionClient } from "./connection-client.ts";
import type { ToolClient } from "./tool-client.ts";

/** Listings under way. Callers that come meanwhile wait for the same listing. */
const listings = new WeakMap<LiveConnection, Promise<Tool[]>>();

/** The connection's tools after its filter, under the server's names. */
export async function offeredTools(connection: LiveConnection): Promise<Tool[]> {
  const { options } = connection.definition;
  return offered(connection, await listOnce(connection)).map((tool) => ({
    ...tool,
    inputSchema: withoutProvided(options, tool.inputSchema),
  }));
}

function listOnce(connection: LiveConnection): Promise<Tool[]> {
  const found = listings.get(connection);
  if (found !== undefined) return found;
  const list = async () => {
    const client = await connectionClient(connection);
    return await connection.inConnectTime(connection.abortSignal, (signal) =>
      listAll(client, connection, signal),
    );
  };
  const listing = connection
    .trace({ operation: "list" }, () => connection.withRecovery(undefined, list))
    .finally(() => listings.delete(connection));
  listings.set(connection, listing);
  return listing;
}

async function listAll(
  client: ToolClient,
  { name, emit }: LiveConnection,
  signal: AbortSignal,
): Promise<Tool[]> {
  // The client's own time limit would count the time in which a store saves the session.
  const options = { signal, timeout: maxTimerMs };
  const pages = await listPages(
    (cursor) => client.listTools(cursor === undefined ? {} : { cursor }, options),
    () => emit({ type: "list-cut", connection: name, method: "tools/list" }),
  );
  return uniqueTools(pages.flatMap(({ tools }) => tools));
}
