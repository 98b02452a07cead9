import { McpSessionError, type SessionStore } from "@durable-mcp/core";
import { createFaultyStore, type StoreAct } from "@durable-mcp/testing";

/** A random number from 0 to 1, the same for each seed. */
export function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

interface Faults {
  readonly random: () => number;
  /** The share of writes that fail, half of them after they were done. */
  readonly share: number;
  /** At most so many in a row. */
  readonly inARow: number;
}

/** A store whose writes fail at random, before they are done or after. */
export function createUnsteadyStore(inner: SessionStore, { random, share, inARow }: Faults) {
  const counts = { before: 0, after: 0 };
  let row = 0;
  const { store, meet } = createFaultyStore(inner);
  const failAtRandom: StoreAct = async (write) => {
    const fails = row < inARow && random() < share;
    row = fails ? row + 1 : 0;
    if (!fails) return await write();
    const error = new McpSessionError("STORE_FAILED", "The connection to the store broke.");
    if (random() < 0.5) {
      counts.before += 1;
      throw error;
    }
    await write();
    counts.after += 1;
    throw error;
  };
  for (const operation of ["put", "delete", "batch"] as const) meet(operation, failAtRandom);
  return { store, counts };
}
