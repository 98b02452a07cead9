import type { Principal } from "@durable-mcp/core";

/** The use for which a function of a definition is called. */
export interface ConnectionContext {
  readonly principal: Principal | undefined;
  readonly connection: string;
  /** Aborts when the step's run is disposed of. */
  readonly abortSignal: AbortSignal;
}

/** A value, or a promise of it. */
export type Awaitable<T> = T | Promise<T>;
