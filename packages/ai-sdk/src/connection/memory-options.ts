import { createServerMemory, type ServerMemory } from "@durable-mcp/core/memory";
import * as z from "zod/mini";
import { age } from "../base/check-options.ts";

export interface MemoryOptions {
  /**
   * Whether steps remember what the server says of itself: its discovery, its lists, and the handshake of a
   * server without sessions. Then a later step's call is its only request. `"server"`: as long as the server
   * allows. `{ pinMs }`: for that time, in milliseconds, on your word. Kept for each principal, in the state or
   * the store. @default nothing is kept, but for what a stateful connection keeps
   */
  readonly memory?: "server" | { readonly pinMs: number } | undefined;
}

export const memorySchema = z.union(
  [z.literal("server"), z.strictObject({ pinMs: age })],
  'must be "server" or { pinMs: <milliseconds> }',
);

/** The memory of a connection, if it has one. */
export function memoryOf({ memory }: MemoryOptions): ServerMemory | undefined {
  return memory && createServerMemory(memory === "server" ? {} : memory);
}
