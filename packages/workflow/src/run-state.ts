/** What is kept of a connection from run to run. */
export interface KeptSlot {
  /** Sealed. */
  readonly slot: string;
  /** Whether the model is still to be told that the session took the place of a lost one. */
  readonly isReplacement: boolean;
}

/** The slots as one text, for the next run; `undefined` when there are none. */
export function printRunState(slots: ReadonlyMap<string, KeptSlot>): string | undefined {
  if (slots.size === 0) return undefined;
  const entries = [...slots].map(([connection, { slot, isReplacement }]) => [
    connection,
    isReplacement ? { slot, isReplacement } : { slot },
  ]);
  return JSON.stringify({ version: 1, slots: Object.fromEntries(entries) });
}

/**
 * The slot of a connection in what an earlier run left. Data from outside: what does not parse is no
 * slot, and whether a slot is genuine is decided where it is unsealed.
 */
export function readRunState(state: unknown, connection: string): KeptSlot | undefined {
  if (typeof state !== "string") return undefined;
  try {
    const { version, slots } = JSON.parse(state) as { version?: unknown; slots?: object };
    if (version !== 1 || !Object.hasOwn(slots ?? {}, connection)) return undefined;
    const { slot, isReplacement } = (slots as Record<string, Partial<KeptSlot>>)[connection]!;
    return typeof slot === "string" ? { slot, isReplacement: isReplacement === true } : undefined;
  } catch {
    return undefined;
  }
}
