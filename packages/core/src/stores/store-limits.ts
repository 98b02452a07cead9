import { McpSessionError } from "../base/mcp-session-error.ts";
import type { JsonValue } from "./session-store.ts";

/** The longest key, owner and prefix, in characters. */
export const maxTextLength = 1_000;
const maxValueLength = 1_000_000;

/** Whether a store takes a key, an owner or a prefix. Most databases would change a lone surrogate. */
export function isStoreText(text: unknown): text is string {
  return typeof text === "string" && text.length <= maxTextLength && text.isWellFormed();
}

/**
 * @param field the value's name, for the error
 * @throws {McpSessionError} `STATE_INVALID` for a value that is not JSON, or too long
 */
export function printValue(value: JsonValue, field = "value"): string {
  let text: string | undefined;
  let cause: unknown;
  try {
    text = JSON.stringify(value);
  } catch (error) {
    cause = error;
  }
  if (text !== undefined && text.length <= maxValueLength) return text;
  const message = `${field} must be JSON of at most ${maxValueLength} characters.`;
  throw new McpSessionError("STATE_INVALID", message, { data: { field }, cause });
}
