import { startLimit } from "@durable-mcp/core/internal";

/**
 * `work`, but a `TimeoutError` when it takes longer than `ms` milliseconds; it goes on by itself.
 * @param onLate gets what comes after that
 */
export function inTime<T>(
  work: Promise<T>,
  ms: number,
  message: string,
  onLate: (result: T) => unknown = () => {},
): Promise<T> {
  return new Promise((resolve, reject) => {
    let isLate = false;
    const stop = startLimit(ms, () => {
      isLate = true;
      reject(new DOMException(message, "TimeoutError"));
    });
    work.then((result) => (isLate ? onLate(result) : resolve(result))).catch(reject);
    work.then(stop, stop);
  });
}
