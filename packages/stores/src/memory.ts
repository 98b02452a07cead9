export { createMemoryStore, type MemoryStoreOptions } from "@durable-mcp/core";
