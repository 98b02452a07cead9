/** Why a request never left: the connection could not be made. As Node, Deno and Bun name it. */
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

/** Further down there is no cause worth naming, or the chain is a circle. */
const maxCauses = 10;

/**
 * Whether the server may have received a request that failed with this error of `fetch`. A network
 * error is a `TypeError`, and most runtimes say in its cause when no connection could be made.
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
