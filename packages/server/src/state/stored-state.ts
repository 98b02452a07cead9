import type { JsonValue, StoreBatchWrite } from "@durable-mcp/core";

/** A state as it is stored. Nobody changes it. */
export type StoredState = Readonly<Record<string, JsonValue>>;

/**
 * Makes the next state of the newest stored one. The same object means that nothing is to be stored.
 * It is called again when another write was faster.
 */
export type StateChange = (stored: StoredState) => StoredState | Promise<StoredState>;

/** A stored state: in a session's record, or in a record of its own. */
export interface StateRow {
  /** As last read or written by this process. */
  readonly state: StoredState;
  /**
   * Stores what `change` makes of the newest stored state, together with `rows`, in one transaction.
   * Without `change` only `rows`. `lesserRows` take their place when the store fails twice.
   *
   * @returns `"gone"` when there is no such state any more, `"lost"` when one of the `rows` was there
   *   already; nothing is stored then
   */
  commit(
    change: StateChange | undefined,
    rows?: readonly StoreBatchWrite[],
    lesserRows?: () => readonly StoreBatchWrite[],
  ): Promise<"stored" | "gone" | "lost">;
}
