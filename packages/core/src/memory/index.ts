export type { ServerMemory } from "../session/session-fetch-options.ts";
export { createServerMemory, type ServerMemoryOptions } from "./server-memory.ts";
