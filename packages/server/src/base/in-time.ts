import { within } from "@durable-mcp/core/internal";

/**
 * `work`, but a `TimeoutError` when it takes longer than `ms` milliseconds; it goes on by itself.
 * @param onLate gets what comes after that
 */
export async function inTime<T>(
  work: Promise<T>,
  ms: number,
  message: string,
  onLate: (result: T) => unknown = () => {},
): Promise<T> {
  if (await within(ms, work)) return await work;
  work.then(onLate).catch(() => undefined);
  throw new DOMException(message, "TimeoutError");
}
