/** The right of one process to do something that all others wait for. */
interface Lease {
  readonly token: string;
  /** In milliseconds since 1970-01-01 UTC, by the clock of its holder. */
  readonly until: number;
}

/**
 * Says of a lease that is looked at again and again whether it is held. It is so no longer than a lease lasts by this
 * clock: its holder's may be wrong.
 */
export function createLeaseWatch(leaseMs: number, now: () => number) {
  let seen: { readonly token: string; readonly since: number } | undefined;
  return (lease: Lease | undefined): boolean => {
    if (lease === undefined) return false;
    if (seen?.token !== lease.token) seen = { token: lease.token, since: now() };
    return Math.min(lease.until, seen.since + leaseMs) > now();
  };
}
