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
export const knownFailures: Readonly<Record<string, KnownFailure>> = {
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
  FILE_LOCKED: refused(
    "another process, or a transaction of yours, kept the file locked",
    "Look for a long transaction, or raise timeoutMs.",
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

  POOLER_REFUSED: refused(
    "the pooler let nothing through",
    "Look at the database behind it, at its limits, and at the startup parameters of your client.",
  ),

  TRYAGAIN: refused("its cluster moves the keys", "Try again in a moment."),
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
