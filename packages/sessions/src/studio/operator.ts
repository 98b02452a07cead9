import { invalidOption, isRecord } from "@durable-mcp/core/internal";

/**
 * - `look`: sees chats, users, and what waits. Nothing else is allowed without it.
 * - `answer`: answers the questions of a server in the name of the user who was asked.
 * - `end`: ends sessions, and takes calls back.
 */
export type OperatorMay = "look" | "answer" | "end";

/** Who asks for a page, and what they may. */
export interface Operator {
  /** For the events of what they do. */
  readonly name: string;
  readonly may: readonly OperatorMay[];
}

/** @throws {McpSessionError} `CONNECTION_INVALID` for what is no operator */
export function checkOperator(value: unknown): Operator | undefined {
  if (value === undefined) return undefined;
  const { name, may } = isRecord(value) ? value : {};
  if (typeof name === "string" && name !== "" && Array.isArray(may)) return { name, may };
  const fix = 'must return { name, may: ["look"] }, or undefined for somebody who may nothing';
  throw invalidOption("authorize", fix);
}
