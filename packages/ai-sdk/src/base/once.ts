/** Runs `load` once; a failure is not kept. */
export function once<T>(load: () => Promise<T>): () => Promise<T> {
  let loading: Promise<T> | undefined;
  return () => {
    loading ??= load().catch((error: unknown) => {
      loading = undefined;
      throw error;
    });
    return loading;
  };
}

/** Calls `tell` for the first of equal values. */
export function oncePer<T>(tell: (value: T) => void): (value: T) => void {
  const told = new Set<T>();
  return (value) => {
    if (told.has(value)) return;
    told.add(value);
    tell(value);
  };
}
