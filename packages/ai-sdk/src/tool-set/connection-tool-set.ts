import type { CallToolResult } from "@ai-sdk/mcp";
import type { FlexibleSchema, Tool, ToolSet } from "ai";
import type { Connections, McpConnection } from "@durable-mcp/sessions";

/**
 * The tools of connections with `schemas`, by name and type: `<connection>__<tool>`, or with the
 * connection's own prefix (`toolNames`). Each is optional, because its connection may be down. The tools
 * of other connections are there at run time only. If no connection has schemas, it is a `ToolSet`.
 */
export type ConnectionToolSet<CONNECTIONS extends Connections> = Listed<
  string extends keyof CONNECTIONS ? ToolSet : NamedTools<KnownTools<CONNECTIONS>>
>;

// TypeScript compares the members of mapped types. A run with known connections can thus be used
// where any run will do.
type Listed<TOOLS> = { [NAME in keyof TOOLS]: TOOLS[NAME] };

// An index signature beside the names would take their types away: `Tool<any>` & `Tool<INPUT>`.
type NamedTools<TOOLS> = [keyof TOOLS] extends [never] ? ToolSet : Partial<TOOLS>;

type KnownTools<CONNECTIONS> = UnionToIntersection<
  ToolsOf<CONNECTIONS>[keyof ToolsOf<CONNECTIONS>]
>;

type ToolsOf<CONNECTIONS> = {
  [NAME in keyof CONNECTIONS & string]: CONNECTIONS[NAME] extends McpConnection<
    infer SCHEMAS,
    infer PREFIX
  >
    ? HasNames<SCHEMAS> extends true
      ? {
          [TOOL in keyof SCHEMAS & string as `${Prefix<NAME, PREFIX>}${TOOL}`]: TypedTool<
            SCHEMAS[TOOL]
          >;
        }
      : never
    : never;
};

/** What stands before a tool's name; `never` for a prefix that is only known at run time. */
type Prefix<NAME extends string, PREFIX> = PREFIX extends false
  ? ""
  : PREFIX extends string
    ? string extends PREFIX
      ? never
      : PREFIX
    : `${NAME}__`;

/** Whether the schemas are known, and not just that there may be some. */
type HasNames<SCHEMAS> =
  SCHEMAS extends Record<string, { inputSchema: FlexibleSchema }>
    ? string extends keyof SCHEMAS
      ? false
      : true
    : false;

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
