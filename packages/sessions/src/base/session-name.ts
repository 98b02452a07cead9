import { invalidOption } from "@durable-mcp/core/internal";

/** The longest name of a session, and id of a shared one, in UTF-16 code units. */
const maxNameLength = 256;

/** Completes the sentence about a name that is none. */
export const sessionNameRule = `must be a text of 1 to ${maxNameLength} characters`;

export function isSessionName(name: unknown): name is string {
  return typeof name === "string" && name !== "" && name.length <= maxNameLength;
}

/** @throws {McpSessionError} `CONNECTION_INVALID` */
export function checkSessionName(name: unknown, field: string): asserts name is string {
  if (!isSessionName(name)) throw invalidOption(field, sessionNameRule);
}
