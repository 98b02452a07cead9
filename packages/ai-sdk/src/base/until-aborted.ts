/** The outcome of `work`, or the signal's reason as soon as it is aborted. `work` itself goes on. */
export async function untilAborted<T>(
  work: PromiseLike<T>,
  signal: AbortSignal | undefined,
): Promise<T> {
  if (signal === undefined) return await work;
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => aborted.reject(signal.reason);
  // Also when it is too late for `work` to be waited for: its failure is nobody's then.
  const race = Promise.race([work, aborted.promise]);
  if (signal.aborted) onAbort();
  else signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await race;
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
