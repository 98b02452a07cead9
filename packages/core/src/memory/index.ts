export {
  createServerMemory,
  type ServerMemory,
  type ServerMemoryOptions,
} from "./server-memory.ts";
