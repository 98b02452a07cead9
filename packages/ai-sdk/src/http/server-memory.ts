import { createServerMemory, type ServerMemory } from "@durable-mcp/core/memory";
import type { McpClientConnection } from "../connection/define-connection.ts";

/** What a definition says of what its server allows to keep; `undefined` if nothing of it is kept. */
export function memoryOf({ options: { memory } }: McpClientConnection): ServerMemory | undefined {
  if (memory === undefined) return undefined;
  return createServerMemory(memory === "server" ? {} : memory);
}
