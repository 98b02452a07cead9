import type { InputResponse } from "@durable-mcp/core/waiting";

/** How an application makes a call that lasts, and looks at it. */
export const lastingWays = [
  "@durable-mcp/ai-sdk",
  "@ai-sdk/mcp",
  "@modelcontextprotocol/client",
  "@modelcontextprotocol/sdk",
] as const;

export type LastingWay = (typeof lastingWays)[number];

/** What one process of an application does: it makes the call, or it looks at the one that was made. */
export interface LastingLeg {
  way: LastingWay;
  url: string;
  /** The file of the store: of one call, and of all processes that take part in it. */
  storePath: string;
  session?: "stateful";
  tool: string;
  /** Of the process that makes the call. */
  args?: Record<string, unknown>;
  /** What a person answers to each of its questions. */
  answer?: InputResponse;
  /** How long it looks, in milliseconds. @default once */
  untilMs?: number;
}

export interface LastingEnd {
  /** The text of the result, a type of what waits, a state, or our code. */
  outcome: string;
}
