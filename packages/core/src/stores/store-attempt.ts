import { noAnswer, startLimit } from "../base/bounded-wait.ts";
import { McpSessionError } from "../base/mcp-session-error.ts";

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

/** What a code of a database, of its client or of the system says. */
interface KnownFailure {
  readonly what: string;
  readonly fix: string;
  /** The database or the system refused: nothing was done. */
  readonly isRefusal: boolean;
}

const refused = (what: string, fix: string): KnownFailure => ({ what, fix, isRefusal: true });
const broken = (what: string, fix: string): KnownFailure => ({ what, fix, isRefusal: false });

const address = "Start the database, or correct its address.";
const account = "Correct the user name and the password.";
const disk = "Make room on its disk.";
const starting = refused("it is starting up", "Try again in a moment.");
const readOnly = /* @__NO_SIDE_EFFECTS__ */ (fix: string) => refused("it only takes reads", fix);
const noWrite = "Let the process write the file and its folder.";
const tables = "Call createTables, or run the SQL of the store's schema in a migration.";
const pool = "Lower the max of your pools, or raise max_connections.";
const timedOut = broken("there was no answer in time", "Look at the database's load and locks.");

/** The failures that an operator can end, by the code in the error. */
const known: Readonly<Record<string, KnownFailure>> = {
  TIMEOUT: timedOut,
  ETIMEDOUT: timedOut,
  STORE_CLOSED: refused("it was closed", "Close it when nobody uses it any more."),
  CLIENT_OFFLINE: refused("its client is not connected", "Connect the client, or wait for it."),
  ECONNREFUSED: refused("nothing listens at its address", address),
  ENOTFOUND: refused("its host name is unknown", "Correct the host name."),
  EAI_AGAIN: refused("its host name could not be looked up", "Look at the name service."),
  ECONNRESET: broken("the connection broke", "Look why the database or the network closed it."),
  EPIPE: broken("the connection broke", "Look why the database or the network closed it."),
  ENOENT: refused("the folder of the file is missing", "Create it, or correct path."),
  EACCES: refused("this process may not write the file", noWrite),
  EROFS: refused("the file system is read-only", noWrite),
  ENOSPC: refused("the disk is full", disk),
  EMFILE: refused("this process has too many open files", "Raise its limit (ulimit -n)."),

  SQLITE_ERROR: refused("it refused the statement", "If the table is missing, call createTables."),
  SQLITE_BUSY: refused(
    "another process kept the file locked for longer than busyTimeoutMs",
    "Look for a long transaction, or raise busyTimeoutMs.",
  ),
  TRANSACTION_OPEN: refused(
    "your database has had a transaction open for longer than busyTimeoutMs",
    "End transactions before you await something else.",
  ),
  SQLITE_LOCKED: refused("another statement keeps the table locked", "Let it end first."),
  SQLITE_FULL: refused("the disk is full, or the file may not grow", disk),
  SQLITE_READONLY: readOnly(noWrite),
  SQLITE_PERM: refused("this process may not open the file", noWrite),
  SQLITE_CANTOPEN: refused("the file could not be opened", "Look at path, and at its folder."),
  SQLITE_NOTADB: refused("the file is no database", "Correct path."),
  SQLITE_CORRUPT: broken("the file is damaged", "Restore it from a backup."),
  SQLITE_IOERR: broken("the disk failed", "Look at the disk, and at the system's log."),

  "25006": readOnly("Give the store the primary, not a replica."),
  "28000": refused("it does not know the user", account),
  "28P01": refused("it refused the password", account),
  "3D000": refused("there is no such database", "Create it, or correct its name."),
  "3F000": refused("there is no such schema", "Create it, or correct schema."),
  "42501": refused(
    "the user lacks a right on the table",
    "Grant it SELECT, INSERT, UPDATE, DELETE.",
  ),
  "42P01": refused("there is no such table", tables),
  "53100": refused("the disk is full", disk),
  "53200": refused("it has no memory left", "Give it more, or lower its load."),
  "53300": refused("it has too many connections", pool),
  "57014": refused("it cancelled the statement", "Look at statement_timeout, and at locks."),
  "57P01": broken("it is shutting down", "Try again when it is back."),
  "57P03": starting,

  READONLY: readOnly("Give the store the master, not a replica."),
  OOM: refused("it has no memory left", "Raise maxmemory."),
  LOADING: starting,
  NOAUTH: refused("it wants a password", account),
  WRONGPASS: refused("it refused the password", account),
  NOPERM: broken("the user lacks a right", "Allow it the store's keys, and EVAL and EVALSHA."),
  MISCONF: refused("it cannot save to its disk", "Look at its log and its disk."),
  BUSY: refused("another script keeps it busy", "Look at that script."),
  CLUSTERDOWN: refused("its cluster is down", "Look at its nodes."),
  MASTERDOWN: refused("its master is down", "Look at its master."),
  NOREPLICAS: refused("it has too few replicas to write", "Look at its replicas."),
  MAX_REQUEST_SIZE_EXCEEDED: refused("the request is too large", "Write less at once."),

  RESOURCE_NOT_FOUND: refused("there is no such table", "Call createTable, or correct table."),
  ACCESS_DENIED: refused("the credentials lack a right", "Allow them the actions on the table."),
  UNRECOGNIZED_CLIENT: refused("it does not know the credentials", "Correct them."),
  EXPIRED_TOKEN: refused("the credentials have expired", "Renew them."),
  CREDENTIALS_PROVIDER: refused("there are no credentials", "Give the client some."),
  THROTTLING: refused("it has too many requests", "Raise the table's limits."),
  PROVISIONED_THROUGHPUT_EXCEEDED: refused(
    "it has too many requests",
    "Raise the table's capacity, or take more shards.",
  ),
  ITEM_COLLECTION_SIZE_LIMIT_EXCEEDED: refused(
    "a partition key holds 10 GB",
    "Take more shards, with another prefix.",
  ),
};

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
  const failure = code === undefined ? undefined : known[code];
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
  return codes.find((code) => Object.hasOwn(known, code)) ?? codes[0];
}

function readCode({ code, errcode, name, message }: Cause): string | undefined {
  if (name === "TimeoutError") return "TIMEOUT";
  if (typeof errcode === "number") return sqliteCodes[errcode & 0xff] ?? `SQLITE_${errcode}`;
  if (typeof code === "string" && /^[A-Z\d_]{3,40}$/.test(code)) return code;
  if (typeof message !== "string") return undefined;
  // Clients of Redis have no codes of their own.
  if (/^The client is (closed|offline)$/.test(message)) return "CLIENT_OFFLINE";
  // Redis puts its codes first, and older versions of it put the words of a script before them.
  return (redisCode.exec(message) ?? sqliteCode.exec(message))?.[1];
}

const redisCode =
  /(?:^|: -)(READONLY|OOM|LOADING|NOAUTH|WRONGPASS|NOPERM|MISCONF|BUSY|CLUSTERDOWN|MASTERDOWN|NOREPLICAS)\s/;

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
