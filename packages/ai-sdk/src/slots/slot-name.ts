import { invalidOption } from "@durable-mcp/core/internal";

/** Names one of a connection's sessions. */
export interface SlotName {
  readonly connection: string;
  /** The name of a named session; `undefined` for the session without a name. */
  readonly name?: string | undefined;
}

/** Names a named session. */
export interface NamedSlot extends SlotName {
  readonly name: string;
}

/** The longest name of a session, in UTF-16 code units. */
const maxNameLength = 256;

/** The first character of each named session's slot name. No connection's name begins with it. */
export const slotNameStart = "[";

/** The text that names a session in keys: the connection's name, or a JSON array for a named session. */
export function slotName({ connection, name }: SlotName): string {
  return name === undefined ? connection : JSON.stringify([connection, name]);
}

/** Reads what `slotName` made. Any other text is the name of a connection. */
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
  throw invalidOption(field, `must be a text of 1 to ${maxNameLength} characters`);
}
