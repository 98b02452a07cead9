/** An observer that throws must not change what it observes. */
export function guarded<ARGUMENTS extends unknown[]>(
  observe: ((...args: ARGUMENTS) => void) | undefined,
): (...args: ARGUMENTS) => void {
  return (...args) => {
    try {
      observe?.(...args);
    } catch {
      // The observer's own affair.
    }
  };
}
