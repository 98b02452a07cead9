import * as z from "zod/mini";
import type { StoredState } from "../state/stored-state.ts";

const schema = z.object({
  version: z.literal(1),
  /** Structural key of the principal. */
  owner: z.string(),
  usedAt: z.number(),
  /** Counts the writes: of two copies, the one with more is the newer. */
  changes: z.number(),
  /** Names the last write: who got no answer to a write finds out whether it was done. */
  writer: z.optional(z.string()),
  state: z.record(z.string(), z.unknown()),
});

/** A state with a record of its own. Times are milliseconds since 1970-01-01 UTC. */
export type StateRecord = Omit<z.infer<typeof schema>, "state"> & {
  readonly state: StoredState;
};

/** `undefined` for a value of another version of this package, or of another program. */
export function parseStateRecord(value: unknown): StateRecord | undefined {
  return z.safeParse(schema, value).success ? (value as StateRecord) : undefined;
}

/** What counts as stored where nothing is. */
export function newStateRecord(owner: string, state: StoredState, at: number): StateRecord {
  return { version: 1, owner, usedAt: at, changes: 0, state };
}
