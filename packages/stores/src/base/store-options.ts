import type { OptionKinds } from "@durable-mcp/core/internal";

/** Options that the stores have in common. */
export interface StoreOptions {
  /** How long one operation may take, connecting included, in milliseconds. @default 10000 */
  readonly timeoutMs?: number | undefined;
  /** Called for a value that is not JSON. It reads as `null`. @default warns once on the console */
  readonly onUnreadable?: (() => void) | undefined;
  /** The clock, in milliseconds since 1970-01-01 UTC. @default Date.now */
  readonly now?: (() => number) | undefined;
}

/** The kinds of these options. The driven store checks its clock. */
export const storeKinds = {
  ...{ timeoutMs: "ms", onUnreadable: "function", now: "anything" },
} as const satisfies OptionKinds<StoreOptions>;
