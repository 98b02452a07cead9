import type { ConnectionFailureReason } from "../base/mcp-session-error.ts";
import { isRecord } from "../base/json-values.ts";

/** The failure of a connection, as far as it is known. */
export interface ConnectionFailure {
  /** `never`: no connection was made. `perhaps`: nobody knows whether the server has the request. */
  readonly sent: "never" | "perhaps";
  readonly reason: ConnectionFailureReason;
  /** The code of the system or of the runtime, such as `ECONNREFUSED`. */
  readonly code?: string | undefined;
}

/** The codes of Node, undici, Deno and Bun. */
const reasons: readonly (readonly [ConnectionFailureReason, RegExp])[] = [
  ["dns", /^(?:ENOTFOUND|EAI_[A-Z]+)$/],
  ["resources", /^(?:EMFILE|ENFILE|ENOBUFS|ENOMEM|EADDRNOTAVAIL)$/],
  [
    "certificate",
    /^[A-Z0-9_]*CERT(?:IFICATE)?(?:_[A-Z0-9_]+)?$|^(?:UNABLE_TO_(?:GET|DECRYPT|DECODE|VERIFY)|CRL)_[A-Z_]+$|^(?:INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_EXCEEDED|HOSTNAME_MISMATCH)$|^ERR_SSL_[A-Z0-9_]*UNKNOWN_CA$/,
  ],
  ["tls", /^(?:ERR_(?:SSL|TLS)_[A-Z0-9_]+|EPROTO)$/],
  ["timeout", /^(?:ETIMEDOUT|ESOCKETTIMEDOUT|UND_ERR_(?:CONNECT|HEADERS|BODY)_TIMEOUT)$/],
  ["refused", /^(?:ECONNREFUSED|ConnectionRefused|FailedToOpenSocket)$/],
  ["reset", /^(?:ECONNRESET|ECONNABORTED|EPIPE|UND_ERR_SOCKET|ConnectionClosed|ConnectionReset)$/],
  ["other", /^(?:E(?:HOST|NET)(?:UNREACH|DOWN)|UND_ERR_[A-Z_]+|ERR_INVALID_URL)$/],
];

/** Codes that only a connection has that could not be made. */
const unconnected =
  /^(?:ENOTFOUND|EAI_[A-Z]+|ECONNREFUSED|ConnectionRefused|FailedToOpenSocket|UND_ERR_CONNECT_TIMEOUT|ERR_INVALID_URL|ERR_SSL_\w*(?:HANDSHAKE_FAILURE|PROTOCOL_VERSION|UNSUPPORTED_PROTOCOL|UNRECOGNIZED_NAME))$/;

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
  const known = knownFailure(error, maxCauses);
  if (known !== undefined || !ofFetch.test(textOf(error, "name"))) return known;
  return { sent: "perhaps", reason: "other" };
}

/** What an error says, or else its cause. */
function knownFailure(error: unknown, depth: number): ConnectionFailure | undefined {
  if (!isRecord(error) || depth === 0) return undefined;
  const { errors } = error;
  // Several addresses were tried.
  if (Array.isArray(errors) && errors.length > 0) return failureOfAll(errors, depth);
  const name = textOf(error, "name");
  const code = textOf(error, "code");
  const syscall = textOf(error, "syscall");
  const reason = /^(?:TimeoutError|AbortError)$/.test(name)
    ? "timeout"
    : reasons.find(([, codes]) => codes.test(code))?.[0];
  const isUnconnected =
    /^(?:connect|getaddrinfo|query\w*)$/.test(syscall) ||
    reason === "certificate" ||
    unconnected.test(code) ||
    unconnectedInWords.test(textOf(error, "message")) ||
    (isRecord(error["socket"]) && error["socket"]["bytesWritten"] === 0);
  if (isUnconnected) return { sent: "never", reason: reason ?? "other", code: code || undefined };
  return reason === undefined
    ? knownFailure(error["cause"], depth - 1)
    : { sent: "perhaps", reason, code: code || undefined };
}

function failureOfAll(errors: readonly unknown[], depth: number): ConnectionFailure | undefined {
  const failures = errors.map((each) => knownFailure(each, depth - 1));
  const maySent = failures.findIndex((failure) => failure?.sent !== "never");
  return failures[Math.max(maySent, 0)];
}

function textOf(error: unknown, field: string): string {
  const value = isRecord(error) ? error[field] : undefined;
  return typeof value === "string" ? value : "";
}
