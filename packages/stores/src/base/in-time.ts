/**
 * Runs something that may never end, for some time at most. After that `signal` is aborted and the
 * promise rejects with a `TimeoutError`; what was asked for may still be done.
 *
 * @param timeoutMs in milliseconds
 */
export async function inTime<T>(
  timeoutMs: number,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
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
