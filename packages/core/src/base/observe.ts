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

/** For what the application did not ask to hear of: warns on the console, the first time alone. */
export function warnOnce<ARGUMENTS extends unknown[]>(
  describe: (...args: ARGUMENTS) => string,
): (...args: ARGUMENTS) => void {
  let isSaid = false;
  return (...args) => {
    if (!isSaid) console.warn(`${describe(...args)} This is said once.`);
    isSaid = true;
  };
}
