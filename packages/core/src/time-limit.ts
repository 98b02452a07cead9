/**
 * A signal that aborts with `signal`, or after `ms` milliseconds.
 *
 * Node before 22.12 forgets a time-out that only `AbortSignal.any` holds; one that somebody listens
 * to it keeps.
 */
export function withTimeLimit(ms: number, signal: AbortSignal | undefined): AbortSignal {
  const timeout = AbortSignal.timeout(ms);
  timeout.addEventListener("abort", () => undefined, { once: true });
  return AbortSignal.any([timeout, ...(signal ? [signal] : [])]);
}
