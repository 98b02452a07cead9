/** Calls the observer and drops its errors, because an observer must not change the observed. */
export function guarded<ARGUMENTS extends unknown[]>(
  observe: ((...args: ARGUMENTS) => void) | undefined,
): (...args: ARGUMENTS) => void {
  return (...args) => {
    try {
      observe?.(...args);
    } catch {
      // The observer has to handle its own errors.
    }
  };
}
