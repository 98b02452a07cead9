/** How long to wait after so many failures in a row, in milliseconds: about 1 s, then twice as long, at most 30 s. */
export function pauseMs(failures: number, random: number = Math.random()): number {
  // Pages that lost their server together do not come back together.
  return Math.min(30_000, 1_000 * 2 ** (failures - 1)) * (0.5 + random / 2);
}

/** How long a read may take after so many failures in a row. A route answers at once, but a network may be slow. */
export function patienceMs(failures: number): number {
  return Math.min(20_000, 5_000 * 2 ** failures);
}

/** Why a request of a page has failed. */
export interface Failure {
  readonly error: Error;
  /** Whether it may pass by itself: a lost connection, a 5xx. */
  readonly isPassing: boolean;
}

/** `undefined` for a 409: somebody is at it, and the next read tells more. */
export function failureOf(thrown: unknown): Failure | undefined {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  const { status, statusCode = status } = error as { status?: unknown; statusCode?: unknown };
  if (statusCode === 409) return undefined;
  if (typeof statusCode === "number") return { error, isPassing: isPassing(statusCode) };
  // What a browser says of it is for nobody, and may have an address.
  const lost = new Error("The connection is lost.", { cause: thrown });
  return { error: lost, isPassing: true };
}

export const isPassing = (status: number) => status >= 500 || [408, 425, 429].includes(status);
