import type { CallToolResult } from "@ai-sdk/mcp";
import type { FlexibleSchema, Tool, ToolSet } from "ai";
import type { McpClientConnection } from "./define-connection.ts";

/**
 * A `ToolSet` in which the tools of connections with `schemas` are known by name and type:
 * `<connection>__<tool>`. Those of other connections are there at run time only.
 */
export type ConnectionToolSet<CONNECTIONS extends Record<string, McpClientConnection>> = ToolSet &
  Partial<UnionToIntersection<ToolsOf<CONNECTIONS>[keyof ToolsOf<CONNECTIONS>]>>;

type ToolsOf<CONNECTIONS> = {
  [NAME in keyof CONNECTIONS & string]: CONNECTIONS[NAME] extends McpClientConnection<infer SCHEMAS>
    ? SCHEMAS extends Record<string, { inputSchema: FlexibleSchema }>
      ? { [TOOL in keyof SCHEMAS & string as `${NAME}__${TOOL}`]: TypedTool<SCHEMAS[TOOL]> }
      : unknown
    : unknown;
};

type TypedTool<SCHEMA> = SCHEMA extends {
  inputSchema: FlexibleSchema<infer INPUT>;
  outputSchema: FlexibleSchema<infer OUTPUT>;
}
  ? Tool<INPUT, OUTPUT>
  : SCHEMA extends { inputSchema: FlexibleSchema<infer INPUT> }
    ? Tool<INPUT, CallToolResult>
    : never;

type UnionToIntersection<U> = (U extends unknown ? (value: U) => void : never) extends (
  value: infer I,
) => void
  ? I
  : never;
