/**
 * Runs an operation that may never end, for a limited time. After that the promise rejects with a
 * `TimeoutError` and aborts `signal`. The operation may still be carried out.
 *
 * @param timeoutMs in milliseconds; `Infinity` sets no limit
 */
export async function inTime<T>(
  timeoutMs: number,
  run: (signal: AbortSignal | undefined) => T,
): Promise<Awaited<T>> {
  if (timeoutMs === Infinity) return await run(undefined);
  const controller = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const tooLate = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const reason = new DOMException(`No answer within ${timeoutMs} ms.`, "TimeoutError");
      controller.abort(reason);
      reject(reason);
    }, timeoutMs);
  });
  try {
    return await Promise.race([run(controller.signal), tooLate]);
  } finally {
    clearTimeout(timer);
  }
}
