/** How long to wait after so many failures in a row, in milliseconds: about 1 s, then twice as long, at most 30 s. */
export function pauseMs(failures: number, random: number = Math.random()): number {
  // Pages that lost their server together do not come back together.
  return Math.min(30_000, 1_000 * 2 ** (failures - 1)) * (0.5 + random / 2);
}

/** Why a request of a page has failed. */
export interface Failure {
  readonly error: Error;
  /** Whether it may pass by itself: a lost connection, a 5xx. */
  readonly isPassing: boolean;
}

/** What a route answers that does not do what it was asked for. */
export class RefusedError extends Error {
  readonly status: number;
  /** The field of a form that is wrong. */
  readonly field: string | undefined;

  constructor(status: number, message: string, field?: string) {
    super(message);
    this.status = status;
    this.field = field;
  }
}

/** `undefined` for a 409: somebody is at it, and the next read tells more. */
export function failureOf(thrown: unknown): Failure | undefined {
  const { status, statusCode = status } = thrown as { status?: unknown; statusCode?: unknown };
  if (statusCode === 409) return undefined;
  if (typeof statusCode === "number" && thrown instanceof Error) {
    return { error: thrown, isPassing: statusCode >= 500 || [408, 425, 429].includes(statusCode) };
  }
  const reason = thrown instanceof Error ? thrown.message : String(thrown);
  return {
    error: new Error(`The connection is lost: ${reason}`, { cause: thrown }),
    isPassing: true,
  };
}
