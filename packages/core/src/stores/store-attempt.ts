import { noAnswer, startLimit } from "../base/bounded-wait.ts";
import { McpSessionError } from "../base/mcp-session-error.ts";
import { knownFailures } from "./known-failures.ts";

/** One operation, while it is tried. */
export interface StoreAttempt {
  /** Aborts when the time is up. */
  readonly signal: AbortSignal | undefined;
  /** Says that a write was not done, and that the rest of the operation only reads. */
  readonly isRead: () => void;
}

/**
 * Runs one operation of a store. If `get` or `list` fails, the message says that nothing was changed.
 *
 * @param timeoutMs in milliseconds; after that it rejects, although the operation may still be done
 * @throws {McpSessionError} `STORE_FAILED` with the error of `run` as its cause, unless that error is an
 *   `McpSessionError` already
 */
export async function attemptInStore<T>(
  store: string,
  operation: string,
  run: (attempt: StoreAttempt) => T,
  timeoutMs = Infinity,
): Promise<Awaited<T>> {
  let onlyReads = operation === "get" || operation === "list";
  const isRead = () => {
    onlyReads = true;
  };
  try {
    if (timeoutMs === Infinity) return await run({ signal: undefined, isRead });
    return await inTime(timeoutMs, async (signal) => await run({ signal, isRead }));
  } catch (cause) {
    if (McpSessionError.isInstance(cause)) throw cause;
    throw storeFailure(store, operation, cause, onlyReads);
  }
}

/** As `timeLimited`, for one caller that waits no longer: a store does this for each of its calls. */
function inTime<T>(ms: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const limit = new AbortController();
  return new Promise((resolve, reject) => {
    const stop = startLimit(ms, () => {
      const late = noAnswer(ms);
      limit.abort(late);
      reject(late);
    });
    work(limit.signal).finally(stop).then(resolve, reject);
  });
}

/**
 * The error of an operation. Its message has a code, what it means and what to do, and nothing else of
 * `cause`, which may repeat a key or an address.
 *
 * @param isRead whether the operation has written nothing
 */
function storeFailure(
  store: string,
  operation: string,
  cause: unknown,
  isRead: boolean,
): McpSessionError {
  const code = codeOf(cause);
  const failure = code === undefined ? undefined : knownFailures[code];
  const why = failure ? `: ${failure.what}` : "";
  const isUndone = !isRetried(cause) && (failure?.isRefusal || isRefusal(cause, code));
  const done = isUndone
    ? "Nothing was written."
    : "It may have been done or not: read before you try again.";
  const sentences = [
    `The ${store} store failed at ${operation}${code === undefined ? "" : ` (${code})`}${why}.`,
    ...(failure ? [failure.fix] : []),
    isRead ? "Nothing was read or changed." : done,
  ];
  return new McpSessionError("STORE_FAILED", sentences.join(" "), { cause });
}

/** Whether the client (of AWS) had tried before. What it lost the answer to may have been done. */
function isRetried(cause: unknown): boolean {
  return causesOf(cause).some(({ $metadata }) => Number($metadata?.attempts) > 1);
}

/** Whether nothing was done, by what the database or the system says. */
function isRefusal(cause: unknown, code = ""): boolean {
  // PostgreSQL undoes a statement that it refuses.
  if (/^(2[2358]|3[DF]|4[02]|5[345])[\dA-Z]{3}$/.test(code) && code !== "40003") return true;
  const calls = causesOf(cause).map(({ syscall }) => syscall);
  return calls.some((call) => call === "connect" || call === "getaddrinfo" || call === "open");
}

/** The code in an error or in one of its causes, for messages: one that is known, if there is one. */
function codeOf(error: unknown): string | undefined {
  const codes = causesOf(error).flatMap((cause) => readCode(cause) ?? []);
  return codes.find((code) => Object.hasOwn(knownFailures, code)) ?? codes[0];
}

function readCode({ code, errcode, name, message }: Cause): string | undefined {
  if (name === "TimeoutError") return "TIMEOUT";
  if (typeof errcode === "number") return sqliteCodes[errcode & 0xff] ?? `SQLITE_${errcode}`;
  if (code === "08P01" && poolerRefusal.test(String(message))) return "POOLER_REFUSED";
  if (typeof code === "string" && /^[A-Z\d_]{3,40}$/.test(code)) return code;
  if (typeof message !== "string") return undefined;
  // Clients of Redis have no codes of their own.
  if (/^The client is (closed|offline)$/.test(message)) return "CLIENT_OFFLINE";
  // Redis puts its codes first, and older versions of it put the words of a script before them.
  return (redisCode.exec(message) ?? sqliteCode.exec(message))?.[1];
}

/** What PgBouncer says before a statement has reached the database. */
const poolerRefusal =
  /server login has been failing|cannot connect to server|unsupported startup parameter|query_wait_timeout|no more connections allowed/;

const redisCode =
  /(?:^|: -)(READONLY|TRYAGAIN|OOM|LOADING|NOAUTH|WRONGPASS|NOPERM|MISCONF|BUSY|CLUSTERDOWN|MASTERDOWN|NOREPLICAS)\s/;

/** D1 and Durable Objects put SQLite's code last. */
const sqliteCode = /: (SQLITE_[A-Z]+)$/;

/** SQLite's primary result codes. @see https://www.sqlite.org/rescode.html */
const sqliteCodes: Readonly<Record<number, string>> = {
  1: "SQLITE_ERROR",
  3: "SQLITE_PERM",
  5: "SQLITE_BUSY",
  6: "SQLITE_LOCKED",
  8: "SQLITE_READONLY",
  10: "SQLITE_IOERR",
  11: "SQLITE_CORRUPT",
  13: "SQLITE_FULL",
  14: "SQLITE_CANTOPEN",
  26: "SQLITE_NOTADB",
};

/** How deep to look. The chain may be a circle. */
const maxCauses = 10;

type Cause = Readonly<
  Partial<
    Record<"code" | "errcode" | "name" | "message" | "syscall" | "cause" | "sourceError", unknown>
  > & { $metadata?: { readonly attempts?: unknown } }
>;

function causesOf(error: unknown): Cause[] {
  const causes: Cause[] = [];
  let current = error as Cause | undefined;
  while (typeof current === "object" && current !== null && causes.length < maxCauses) {
    causes.push(current);
    // Neon's client has a name of its own for it.
    current = (current.cause ?? current.sourceError) as Cause | undefined;
  }
  return causes;
}
