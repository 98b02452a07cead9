import type { ConnectionFailureReason } from "../base/mcp-session-error.ts";
import { isRecord } from "../base/json-values.ts";

/** The failure of a connection, as far as it is known. */
export interface ConnectionFailure {
  /** `never`: no connection was made. `perhaps`: nobody knows whether the server has the request. */
  readonly sent: "never" | "perhaps";
  readonly reason: ConnectionFailureReason;
  /** The code of the system or of the runtime, such as `ECONNREFUSED`. */
  readonly code?: string | undefined;
  /** In words: one sentence or two. */
  readonly words: string;
}
type Known = Omit<ConnectionFailure, "words">;

/** The codes of Node, undici, Deno and Bun, and the reason in words, for a connection that was not made. */
const reasons: readonly (readonly [ConnectionFailureReason, unsent: string, codes: RegExp])[] = [
  ["dns", "the host name could not be resolved", /^(?:ENOTFOUND$|EAI_)/],
  [
    "resources",
    "this process could open no connection",
    /^(?:E[MN]FILE|ENOBUFS|ENOMEM|EADDRNOTAVAIL)$/,
  ],
  [
    "certificate",
    "the certificate was refused",
    /^\w*CERT(?:IFICATE)?(?:_\w+)?$|^(?:UNABLE_TO_(?:GET|DECRYPT|DECODE|VERIFY)|CRL)_|^(?:INVALID_(?:CA|PURPOSE)|PATH_LENGTH_EXCEEDED|HOSTNAME_MISMATCH)$|^ERR_SSL_\w*UNKNOWN_CA$/,
  ],
  ["tls", "no TLS connection could be made", /^(?:ERR_(?:SSL|TLS)_|EPROTO$)/],
  [
    "timeout",
    "no connection was made in time",
    /^(?:E(?:SOCKET)?TIMEDOUT|UND_ERR_(?:CONNECT|HEADERS|BODY)_TIMEOUT)$/,
  ],
  [
    "refused",
    "the connection was refused",
    /^(?:ECONNREFUSED|ConnectionRefused|FailedToOpenSocket)$/,
  ],
  [
    "reset",
    "the connection broke while it was made",
    /^(?:ECONN(?:RESET|ABORTED)|EPIPE|UND_ERR_SOCKET|Connection(?:Closed|Reset))$/,
  ],
  [
    "other",
    "no connection could be made",
    /^(?:E(?:HOST|NET)(?:UNREACH|DOWN)|UND_ERR_[A-Z_]+|ERR_INVALID_URL)$/,
  ],
];

/** Reasons, and codes, that only a connection has that could not be made. */
const unconnected =
  /^(?:dns|certificate|refused|UND_ERR_CONNECT_TIMEOUT|ERR_INVALID_URL|ERR_SSL_\w*(?:HANDSHAKE_FAILURE|PROTOCOL_VERSION|UNSUPPORTED_PROTOCOL|UNRECOGNIZED_NAME))$/;

/**
 * The same in words: of node-fetch (a failed system call), of Node (TLS; OpenSSL's `tlsany_meth.c` reads
 * what comes before the first handshake), of Deno, and of undici (a URL that it refuses, a proxy).
 */
const unconnectedInWords =
  /\b(?:connect|getaddrinfo) E[A-Z]|before secure TLS connection|tlsany_meth|client error \(Connect\)|^bad port$|^unknown scheme$|HTTP Tunneling/;

/** The names of errors that `fetch` has for the network. A time-out is one of a base fetch. */
const ofFetch = /^(?:TypeError|FetchError|AggregateError|NetworkError|TimeoutError|AbortError)$/;

/** A longer chain of causes has nothing useful, or is a circle. */
const maxCauses = 10;

/**
 * The failure of a connection behind an error of `fetch`; `undefined` for any other error. "Never sent" is
 * decided by what says so. Without that the request may have arrived. The caller's own abort looks like a
 * time-out here, so look at the signal first.
 */
export function connectionFailure(error: unknown): ConnectionFailure | undefined {
  const ofNetwork = { sent: "perhaps", reason: "other" } as const;
  const isOfFetch = ofFetch.test(textOf(error, "name"));
  const known = knownFailure(error, maxCauses) ?? (isOfFetch ? ofNetwork : undefined);
  return known && { ...known, words: wordsOf(known) };
}

/** What an error says, or else its cause. */
function knownFailure(error: unknown, depth: number): Known | undefined {
  if (!isRecord(error) || depth === 0) return undefined;
  const { errors } = error;
  // Several addresses were tried.
  if (Array.isArray(errors) && errors.length > 0) return failureOfAll(errors, depth);
  const name = textOf(error, "name");
  const code = textOf(error, "code");
  const syscall = textOf(error, "syscall");
  const reason = /^(?:TimeoutError|AbortError)$/.test(name)
    ? "timeout"
    : reasons.find(([, , codes]) => codes.test(code))?.[0];
  const isUnconnected =
    /^(?:connect|getaddrinfo|query\w*)$/.test(syscall) ||
    unconnected.test(reason ?? "") ||
    unconnected.test(code) ||
    unconnectedInWords.test(textOf(error, "message")) ||
    (isRecord(error["socket"]) && error["socket"]["bytesWritten"] === 0);
  if (isUnconnected) return { sent: "never", reason: reason ?? "other", code: code || undefined };
  return reason === undefined
    ? knownFailure(error["cause"], depth - 1)
    : { sent: "perhaps", reason, code: code || undefined };
}

function failureOfAll(errors: readonly unknown[], depth: number): Known | undefined {
  const failures = errors.map((each) => knownFailure(each, depth - 1));
  const maySent = failures.findIndex((failure) => failure?.sent !== "never");
  return failures[Math.max(maySent, 0)];
}

function textOf(error: unknown, field: string): string {
  const value = isRecord(error) ? error[field] : undefined;
  return typeof value === "string" ? value : "";
}

function wordsOf({ sent, reason, code }: Known): string {
  const withCode = code === undefined ? "" : ` (${code})`;
  if (sent === "never") {
    const [, unsent] = reasons.find(([each]) => each === reason)!;
    return `${unsent}${withCode}. Nothing was sent.`;
  }
  const what =
    reason === "timeout" ? "no answer came in time" : "the connection broke before an answer came";
  return `${what}${withCode}.`;
}

/**
 * What a server, or what stands before it, answers after it may have begun the work. A proxy answers 503 by itself,
 * also when the server has taken the request. Only a server that has not begun asks to come back later.
 *
 * @param headers @default unknown
 */
export function mayHaveRun(status: number, headers?: Headers): boolean {
  if (status === 503) return headers?.has("retry-after") !== true;
  return status === 408 || status >= 500;
}
