/** A connection's slot between two runs. */
export interface KeptSlot {
  /** Sealed. */
  readonly slot: string;
  /** Whether the session took the place of a lost one, and the model has not been told yet. */
  readonly isReplacement: boolean;
}

/** The slots as one text, for the next run; `undefined` if there are none. */
export function printRunState(slots: ReadonlyMap<string, KeptSlot>): string | undefined {
  if (slots.size === 0) return undefined;
  const entries = [...slots].map(([connection, { slot, isReplacement }]) => [
    connection,
    isReplacement ? { slot, isReplacement } : { slot },
  ]);
  return JSON.stringify({ version: 1, slots: Object.fromEntries(entries) });
}

/** In characters. More than a slot for each of a hundred connections. */
const maxLength = 1_000_000;

/**
 * The slots of an earlier run by connection, with the slots that this run does not use. This is data
 * from outside: a slot that does not parse is left out, and unsealing decides whether a slot is genuine.
 */
export function readRunState(state: unknown): Map<string, KeptSlot> {
  if (typeof state !== "string" || state.length > maxLength) return new Map();
  try {
    const { version, slots } = JSON.parse(state) as { version?: unknown; slots?: object };
    if (version !== 1) return new Map();
    return new Map(Object.entries(slots ?? {}).flatMap(readSlot));
  } catch {
    return new Map();
  }
}

function readSlot([connection, kept]: [string, Partial<KeptSlot> | null]): [string, KeptSlot][] {
  const { slot, isReplacement } = kept ?? {};
  if (typeof slot !== "string") return [];
  return [[connection, { slot, isReplacement: isReplacement === true }]];
}
