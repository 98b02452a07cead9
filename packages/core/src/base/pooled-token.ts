let pool = new Uint32Array(0);
let used = 0;

/**
 * As `randomToken`, from a pool of 4 KiB: to ask the system for each token costs more than all the rest. It
 * is for those who need many, because the session fetch has no room for a pool.
 */
export function pooledToken(): string {
  return word() + word() + word();
}

function word(): string {
  if (used === pool.length) {
    pool = crypto.getRandomValues(new Uint32Array(1_024));
    used = 0;
  }
  used += 1;
  return pool[used - 1]!.toString(16).padStart(8, "0");
}
