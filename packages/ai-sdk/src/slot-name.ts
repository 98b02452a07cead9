import { McpSessionError } from "@durable-mcp/core";

/** One of a connection's sessions. */
export interface SlotName {
  readonly connection: string;
  /** That of a named session; `undefined` for the one that needs no name. */
  readonly name?: string | undefined;
}

/** The longest name of a session, in UTF-16 code units. */
const maxNameLength = 256;

/**
 * What stands for one of a connection's sessions where keys have the connection's name. No
 * connection's name can look like that of a named session: none starts with `[`.
 */
export function slotName({ connection, name }: SlotName): string {
  return name === undefined ? connection : JSON.stringify([connection, name]);
}

/** What `slotName` made; any other text is the name of a connection. */
export function parseSlotName(text: string): SlotName {
  if (!text.startsWith("[")) return { connection: text };
  try {
    const parts: unknown = JSON.parse(text);
    const [connection, name, ...others] = Array.isArray(parts) ? parts : [];
    const isNamed = typeof connection === "string" && typeof name === "string" && !others.length;
    return isNamed ? { connection, name } : { connection: text };
  } catch {
    return { connection: text };
  }
}

/** @throws {McpSessionError} `CONNECTION_INVALID` */
export function checkSessionName(name: unknown, field: string): asserts name is string {
  if (typeof name === "string" && name !== "" && name.length <= maxNameLength) return;
  throw new McpSessionError(
    "CONNECTION_INVALID",
    `${field} must be a text of 1 to ${maxNameLength} characters.`,
    { data: { field } },
  );
}
