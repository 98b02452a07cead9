import type { LiveConnection } from "@durable-mcp/ai-sdk/internal";
import { listPages, uniqueTools } from "@durable-mcp/core/internal";
import type { Tool } from "@modelcontextprotocol/sdk/types.js";
import { connectionClient } from "./connection-client.ts";
import type { ToolClient } from "./tool-client.ts";

/** Listings under way. Callers that come meanwhile wait for the same listing. */
const listings = new WeakMap<LiveConnection, Promise<Tool[]>>();

/** The connection's tools after its filter, under the server's names. */
export async function offeredTools(connection: LiveConnection): Promise<Tool[]> {
  const listed = await listOnce(connection);
  const { tools: filter, schemas } = connection.definition.options;
  return listed.filter(({ name }) => {
    if (schemas !== undefined && !Object.hasOwn(schemas, name)) return false;
    if (filter === undefined) return true;
    return "allow" in filter ? filter.allow.includes(name) : !filter.block.includes(name);
  });
}

function listOnce(connection: LiveConnection): Promise<Tool[]> {
  const found = listings.get(connection);
  if (found !== undefined) return found;
  const list = async () => await listAll(await connectionClient(connection), connection);
  const listing = connection
    .trace({ operation: "list" }, () => connection.withRecovery(undefined, list))
    .finally(() => listings.delete(connection));
  listings.set(connection, listing);
  return listing;
}

async function listAll(
  client: ToolClient,
  { name, origin, abortSignal, connectMs }: LiveConnection,
): Promise<Tool[]> {
  const options = { signal: abortSignal, timeout: connectMs };
  const pages = await listPages(`Connection ${name}: tools/list at ${origin}`, (cursor) =>
    client.listTools(cursor === undefined ? {} : { cursor }, options),
  );
  return uniqueTools(pages.flatMap(({ tools }) => tools));
}
