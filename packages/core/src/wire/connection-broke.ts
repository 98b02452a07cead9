/** The error codes of Node, Deno and Bun for a connection that could not be made: nothing was sent. */
const neverSent = new Set<unknown>([
  "ECONNREFUSED",
  "ConnectionRefused",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENETDOWN",
  "UND_ERR_CONNECT_TIMEOUT",
  "ERR_INVALID_URL",
]);

/** A longer chain of causes has nothing useful, or is a circle. */
const maxCauses = 10;

/**
 * Whether the server may have received a request that failed with this error of `fetch`. A network
 * error is a `TypeError`. In most runtimes its cause tells whether no connection could be made.
 */
export function mayHaveArrived(error: unknown): boolean {
  if (!(error instanceof TypeError)) return false;
  let current: unknown = error;
  for (let depth = 0; depth < maxCauses; depth += 1) {
    if (typeof current !== "object" || current === null) return true;
    const { code, cause } = current as { code?: unknown; cause?: unknown };
    if (neverSent.has(code)) return false;
    current = cause;
  }
  return true;
}
