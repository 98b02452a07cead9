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
    const timer = setTimeout(() => {
      isLate = true;
      reject(new DOMException(message, "TimeoutError"));
    }, ms);
    work.then((result) => (isLate ? onLate(result) : resolve(result))).catch(reject);
    work.then(
      () => clearTimeout(timer),
      () => clearTimeout(timer),
    );
  });
}
