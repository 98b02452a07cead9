import { McpSessionError } from "@durable-mcp/core";
import type { ConnectionEvent } from "../events/connection-event.ts";
import { collisionInWords } from "../events/application-event.ts";

/** A tool of a connection, under its name for the model. */
export interface ListedTool {
  readonly name: string;
  readonly connection: string;
  /** The server's name of the tool. */
  readonly tool: string;
}

interface CollisionOptions {
  /** As of `tools()`: `"omit"` leaves the tools out and tells; `"throw"` throws. */
  readonly onUnavailable: "omit" | "throw";
  readonly emit: (event: ConnectionEvent) => void;
}

/**
 * The tools whose names are their own. Of tools with one name none is taken, so that the result depends on
 * no order, and a call never reaches another server than the model was shown.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID` with `"throw"`
 */
export function withoutCollisions<TOOL extends ListedTool>(
  listed: readonly TOOL[],
  { onUnavailable, emit }: CollisionOptions,
): TOOL[] {
  const byName = Map.groupBy(listed, ({ name }) => name);
  if (byName.size === listed.length) return [...listed];
  return [...byName].flatMap(([toolName, same]) => {
    if (same.length === 1) return same;
    if (onUnavailable === "throw") throw sameName(toolName, same);
    const tools = same.map(({ connection, tool }) => ({ connection, tool }));
    emit({ type: "tools-collide", connection: tools[0]!.connection, toolName, tools });
    return [];
  });
}

/** The error for tools of several connections with one name for the model. */
export function sameName(
  name: string,
  tools: readonly Omit<ListedTool, "name">[],
  field = "toolNames",
): McpSessionError {
  const { connection } = tools.at(-1)!;
  const data = { field, connection };
  return new McpSessionError("CONNECTION_INVALID", collisionInWords(name, tools), { data });
}
