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

/** `undefined` for a 409: somebody is at it, and the next read tells more. */
export function failureOf(thrown: unknown): Failure | undefined {
  // A refusal, of ours or of AI SDK, is an error with its status.
  const error = Object(thrown) as Error & { status?: unknown; statusCode?: unknown };
  const { status, statusCode = status } = error;
  if (statusCode === 409) return undefined;
  if (typeof statusCode === "number") return { error, isPassing: canPass(statusCode) };
  // What a browser says of a lost connection is for nobody, and may have an address.
  return { error: new Error(silence, { cause: thrown }), isPassing: true };
}

export const canPass = (status: number) => status >= 500 || [408, 425, 429].includes(status);

/** What a page says where nobody else says why. */
export const silence = "The server does not answer.";
