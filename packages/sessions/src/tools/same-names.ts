import { McpSessionError } from "@durable-mcp/core";
import { ownField } from "../base/own-field.ts";
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

/** By tool of a run, the connection that it belongs to. */
const connections = new WeakMap<object, string>();

/** The connection of a tool that a run made; `undefined` for a stand-in, and for any other tool. */
export function connectionOf(tool: object): string | undefined {
  return connections.get(tool);
}

/** Tools as a framework has them, by their names for the model. */
export type ToolsByName<TOOL extends object = any> = Record<string, TOOL>;

/** The tools of a connection. */
export interface ConnectionSet {
  readonly connection: string;
  readonly tools: ToolsByName;
  /** Whether there is only a stand-in for the connection's tools. @default false */
  readonly isDown?: boolean | undefined;
}

/** The tools of several connections as one set. @throws as `withoutCollisions` */
export function mergeTools(sets: readonly ConnectionSet[], options: CollisionOptions): ToolsByName {
  const listed = sets.flatMap(({ connection, tools, isDown }) =>
    Object.entries(tools).map(([name, value]) => {
      const { toolName = name } = (ownField(value, "metadata") ?? {}) as { toolName?: string };
      if (!isDown) connections.set(value, connection);
      return { name, connection, tool: toolName, value };
    }),
  );
  const own = withoutCollisions(listed, options);
  return Object.fromEntries(own.map(({ name, value }) => [name, value]));
}
