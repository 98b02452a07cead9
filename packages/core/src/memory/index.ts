export { createMemoryFetch, type MemoryFetchOptions } from "./memory-fetch.ts";
export {
  createServerMemory,
  type ServerMemory,
  type ServerMemoryOptions,
} from "./server-memory.ts";
