import { isRecord } from "@durable-mcp/core/internal";
import type { LiveConnection } from "../connection/live-connection.ts";

/** Connections of this step whose filters were compared with the server's tools. */
const compared = new WeakSet<LiveConnection>();

/**
 * The server's tools that a connection offers, by its filter and its schemas. Names in them that the
 * server has no tool for are told once a step, because a tool of that name is missing, or not blocked. So are tools
 * that only run as tasks, which are not offered.
 */
export function offeredTools<TOOL extends { readonly name: string; readonly execution?: unknown }>(
  connection: LiveConnection,
  listed: readonly TOOL[],
): TOOL[] {
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
const needsTask = ({ execution }: { readonly execution?: unknown }) =>
  isRecord(execution) && execution["taskSupport"] === "required";

function tellUnmatched(
  { name: connection, emit }: LiveConnection,
  option: "tools.allow" | "tools.block" | "schemas",
  named: readonly string[],
  listed: readonly { readonly name: string }[],
): void {
  const tools = named.filter((tool) => listed.every(({ name }) => name !== tool));
  if (tools.length > 0) emit({ type: "tools-unmatched", connection, option, tools });
}
