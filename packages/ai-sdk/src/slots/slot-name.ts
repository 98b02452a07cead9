import { McpSessionError } from "@durable-mcp/core";

/** One of a connection's sessions. */
export interface SlotName {
  readonly connection: string;
  /** That of a named session; `undefined` for the one that needs no name. */
  readonly name?: string | undefined;
}

/** A named one. */
export interface NamedSlot extends SlotName {
  readonly name: string;
}

/** The longest name of a session, in UTF-16 code units. */
const maxNameLength = 256;

/** What the texts that stand for named sessions start with, and no connection's name. */
export const slotNameStart = "[";

/**
 * What stands for one of a connection's sessions where keys have the connection's name. No
 * connection's name can look like that of a named session: none starts with `[`.
 */
export function slotName({ connection, name }: SlotName): string {
  return name === undefined ? connection : JSON.stringify([connection, name]);
}

/** What `slotName` made; any other text is the name of a connection. */
export function parseSlotName(text: string): SlotName {
  if (!text.startsWith(slotNameStart)) return { connection: text };
  try {
    const parts: unknown = JSON.parse(text);
    const [connection, name, ...others] = Array.isArray(parts) ? parts : [];
    const isNamed = typeof connection === "string" && typeof name === "string" && !others.length;
    return isNamed ? { connection, name } : { connection: text };
  } catch {
    return { connection: text };
  }
}

export function isSessionName(name: unknown): name is string {
  return typeof name === "string" && name !== "" && name.length <= maxNameLength;
}

/** @throws {McpSessionError} `CONNECTION_INVALID` */
export function checkSessionName(name: unknown, field: string): asserts name is string {
  if (isSessionName(name)) return;
  throw new McpSessionError(
    "CONNECTION_INVALID",
    `${field} must be a text of 1 to ${maxNameLength} characters.`,
    { data: { field } },
  );
}
