/**
 * A signal that aborts with `signal`, or after `ms` milliseconds.
 *
 * Node 22.11 and older forget a time-out that only `AbortSignal.any` holds, and keep one that
 * somebody listens to.
 */
export function withTimeLimit(ms: number, signal: AbortSignal | undefined): AbortSignal {
  const timeout = AbortSignal.timeout(ms);
  timeout.addEventListener("abort", () => undefined, { once: true });
  return AbortSignal.any([timeout, ...(signal ? [signal] : [])]);
}
