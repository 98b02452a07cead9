/** By options of a definition, the values that calls under way send, and nobody else may read. */
const inUse = new WeakMap<object, Set<readonly string[]>>();

/** Keeps values out of the events and the progress of a definition's connections while `work` goes on. */
export async function hiding<T>(
  options: object,
  values: readonly string[],
  work: () => Promise<T>,
): Promise<T> {
  if (values.length === 0) return await work();
  const hidden = inUse.get(options) ?? new Set();
  inUse.set(options, hidden);
  const own = [...values];
  hidden.add(own);
  try {
    return await work();
  } finally {
    hidden.delete(own);
  }
}

export function hiddenValues(options: object): string[] {
  return [...(inUse.get(options) ?? [])].flat();
}
