import type { SessionStore } from "@durable-mcp/core";

/** A store as it is in its place, with its values as they are there. */
export interface StorePlace {
  readonly store: SessionStore;
  /** What it is, for people: never its address. */
  readonly name: string;
  readonly close: () => Promise<void>;
}
