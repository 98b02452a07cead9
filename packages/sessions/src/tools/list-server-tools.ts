import { isRecord, listTools } from "@durable-mcp/core/internal";
import type { McpClient, ServerTool } from "../base/mcp-client.ts";
import type { UsedConnection } from "../connection/used-connection.ts";

/** Connections of this step whose filters were compared with the server's tools. */
const compared = new WeakSet<UsedConnection>();

/** Listings under way. Those who come meanwhile wait for the same one. */
const listings = new WeakMap<UsedConnection, Promise<readonly ServerTool[]>>();

/**
 * Lists the server's tools that a connection offers, by its filter and its schemas. Names in them that the
 * server has no tool for are told once a step, because a tool of that name is missing, or not blocked. So are tools
 * that only run as tasks, which are not offered.
 */
export async function listServerTools(connection: UsedConnection): Promise<ServerTool[]> {
  const listing = listings.get(connection) ?? listOnce(connection);
  listings.set(connection, listing);
  return withoutHidden(connection, await listing);
}

async function listOnce(connection: UsedConnection): Promise<readonly ServerTool[]> {
  const list = async () => {
    const client = await connection.client();
    if (client.initializeResult.capabilities["tools"] == null) return [];
    return await connection.inConnectTime(connection.abortSignal, (signal) =>
      listAll(client, connection, signal),
    );
  };
  try {
    return await connection.trace({ operation: "list" }, () =>
      connection.withRecovery(undefined, list),
    );
  } finally {
    listings.delete(connection);
  }
}

/** All tools of the server. */
async function listAll(
  client: McpClient,
  { name, emit }: UsedConnection,
  signal: AbortSignal,
): Promise<readonly ServerTool[]> {
  return await listTools<ServerTool>(
    async (params) => await client.listTools({ ...(params && { params }), options: { signal } }),
    () => emit({ type: "list-cut", connection: name, method: "tools/list" }),
  );
}

function withoutHidden(connection: UsedConnection, listed: readonly ServerTool[]): ServerTool[] {
  const { options } = connection.definition;
  const { tools: filter = { block: [] }, schemas } = options;
  const [option, named] =
    "allow" in filter
      ? (["tools.allow", filter.allow] as const)
      : (["tools.block", filter.block] as const);
  const type = "tools-need-tasks";
  if (!compared.has(connection)) {
    compared.add(connection);
    tellUnmatched(connection, option, named, listed);
    tellUnmatched(connection, "schemas", Object.keys(schemas ?? {}), listed);
    const tools = listed.filter(needsTask).map(({ name }) => name);
    if (tools.length > 0) connection.emit({ type, connection: connection.name, tools });
  }
  return listed.filter(({ name, execution }) => {
    if (needsTask({ execution })) return false;
    if (schemas !== undefined && !Object.hasOwn(schemas, name)) return false;
    return named.includes(name) === (option === "tools.allow");
  });
}

/** Whether each call of a tool has to become a task. Where calls may be tasks, the list says that they need not. */
const needsTask = ({ execution }: Pick<ServerTool, "execution">) =>
  isRecord(execution) && execution["taskSupport"] === "required";

function tellUnmatched(
  { name: connection, emit }: UsedConnection,
  option: "tools.allow" | "tools.block" | "schemas",
  named: readonly string[],
  listed: readonly ServerTool[],
): void {
  const tools = named.filter((tool) => listed.every(({ name }) => name !== tool));
  if (tools.length > 0) emit({ type: "tools-unmatched", connection, option, tools });
}
