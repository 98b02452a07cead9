import {
  McpSessionError,
  sessionFailure,
  type SessionSlot,
  type UnavailableReason,
} from "@durable-mcp/core";
import { saysUnknown } from "@durable-mcp/core/internal";
import { cannotAsk } from "./application-event.ts";
import type { ConnectionEvent } from "./connection-event.ts";
import {
  causesOf,
  isQuestion,
  type RequestFailure,
  requestFailure,
  wordsOf,
} from "./request-failure.ts";

/**
 * The `McpSessionError` behind a client's error: thrown by a fetch of ours, or delivered by the
 * slot's session fetch as a JSON-RPC error. Other errors are returned unchanged.
 */
export function restoreSessionError(
  error: unknown,
  connection: string,
  slot: SessionSlot | undefined,
): unknown {
  const own = McpSessionError.isInstance(error) ? error : slot && sessionFailure(slot, error);
  return own === undefined ? error : withConnection(own, connection);
}

/** The error of a connection that cannot be used, whatever the reason. */
export function connectionUnavailable(
  error: unknown,
  connection: string,
  origin: string,
): McpSessionError {
  const own = ownError(error);
  if (own !== undefined) return withConnection(own, connection);
  const failure = requestFailure(error) ?? answerAsRefusal(error);
  return failedRequest(failure, { connection, origin, cause: error });
}

/**
 * The error of a request on a connection, as the application gets it: an `McpSessionError` if the way to the
 * server failed. Other errors are returned unchanged: the server's own JSON-RPC errors, aborts, and
 * misuses of the client.
 */
export function requestError(error: unknown, use: FailedUse): unknown {
  const own = ownError(error);
  if (own !== undefined) return withConnection(own, use.connection);
  if (use.isMute && isQuestion(error)) return nobodyToAsk(error, use);
  if (saysUnknown(error)) return lostOnServer(error, use);
  const failure = requestFailure(error);
  return failure === undefined ? error : failedRequest(failure, { ...use, cause: error });
}

/** Without a session fetch, which says the same. */
function lostOnServer(cause: unknown, use: FailedUse): McpSessionError {
  const { connection, origin, method } = use;
  const message = `Connection ${connection}: the server at ${origin} says that the answer was lost there. ${checkFirst}`;
  return new McpSessionError("OUTCOME_UNKNOWN", message, {
    data: { connection, origin, method },
    cause,
  });
}

function nobodyToAsk(cause: unknown, { connection, origin, method }: FailedUse): McpSessionError {
  const data = { field: `connections.${connection}.waiting`, connection, origin, method };
  const message = `Connection ${connection}: ${cannotAsk}`;
  return new McpSessionError("CONNECTION_INVALID", message, { data, cause });
}

interface FailedUse {
  readonly connection: string;
  readonly origin: string;
  /** The JSON-RPC method, if it is known. */
  readonly method?: string | undefined;
  /** Says where the server's path may be, if its URL answers no handshake. */
  readonly pathHint?: string | undefined;
  /** Whether the connection lets nobody answer the server's questions. */
  readonly isMute?: boolean | undefined;
}

/** What to say of a URL that answered `initialize` with this status; `undefined` if its path is likely right. */
export function pathHint(status: number | undefined, pathname: string): string | undefined {
  const isElsewhere = (status === 404 || status === 405) && !/\/mcp\/?$/.test(pathname);
  return isElsewhere ? "MCP servers are often at /mcp." : undefined;
}

/**
 * The request for which the session fetch, or another fetch of ours, has an error already. Signing in
 * fixes the missing token; it says nothing about the call's outcome.
 */
function ownError(error: unknown): McpSessionError | undefined {
  const own = causesOf(error).filter((cause) => McpSessionError.isInstance(cause));
  return own[0]?.code === "OUTCOME_UNKNOWN" ? own[0] : (own.find(isForSignIn) ?? own[0]);
}

const isForSignIn = ({ code }: McpSessionError) => code === "AUTHORIZATION_REQUIRED";

/** The error in a chain of causes that says that the user has to sign in. */
export function authorizationRequired(
  error: unknown,
  connection?: string,
): McpSessionError | undefined {
  const own = ownError(error);
  if (own === undefined || !isForSignIn(own)) return undefined;
  return connection === undefined ? own : withConnection(own, connection);
}

function failedRequest(
  failure: RequestFailure,
  use: FailedUse & { readonly cause: unknown },
): McpSessionError {
  const { connection, origin, method, cause } = use;
  const { reason, status } = failure;
  const isUnknown = method === "tools/call" && failure.mayHaveRun;
  const next = isUnknown ? checkFirst : tryAgain(reason, use.pathHint);
  return new McpSessionError(
    // An answer that is no result is a refusal, whatever the server did before.
    isUnknown && failure.connection ? "OUTCOME_UNKNOWN" : "CONNECTION_UNAVAILABLE",
    `Connection ${connection}: ${inWords(failure, origin)} ${next}`,
    { data: { connection, origin, method, status, reason }, cause },
  );
}

export const checkFirst =
  "Whether the call was carried out is unknown; check before you send it again.";

function tryAgain(reason: UnavailableReason, hint: string | undefined): string {
  if (reason === "authorization-required") return "Log in, or give the connection another token.";
  if (hint !== undefined) return `Check the path of the URL: ${hint}`;
  if (reason === "not-mcp") return "Check the path of the URL.";
  return "The connection is tried again when it is next used.";
}

function inWords({ reason, connection, status, said }: RequestFailure, origin: string): string {
  if (connection) return `no answer from ${origin}: ${connection.words}`;
  const server = `the server at ${origin}`;
  const words = said === undefined ? "" : `, and says ${JSON.stringify(said)}`;
  const withStatus = status === undefined ? "" : ` (HTTP ${status})`;
  if (reason === "authorization-required")
    return `${server} requires authorization${withStatus}${words}.`;
  if (reason === "not-mcp") return `${server} did not answer with MCP${withStatus}.`;
  if (status !== undefined) return `${server} refused with HTTP ${status}${words}.`;
  return reason === "refused"
    ? `${server} refused${words}.`
    : `${server} could not be reached or refused; see the cause.`;
}

/** A JSON-RPC error where any error means that the connection cannot be used. */
function answerAsRefusal(error: unknown): RequestFailure {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  const isAnswer = Number.isInteger(code) && typeof message === "string";
  const said = isAnswer ? wordsOf(message) : undefined;
  return { reason: isAnswer ? "refused" : "other", mayHaveRun: false, said };
}

/**
 * The error for an event: without its cause. The cause can be anything that an application or a
 * server threw, tokens included.
 */
export function withoutCause({ code, message, data }: McpSessionError): McpSessionError {
  return new McpSessionError(code, message, { data });
}

function withConnection(error: McpSessionError, connection: string): McpSessionError {
  if (error.data.connection !== undefined) return error;
  return new McpSessionError(error.code, error.message, {
    data: { ...error.data, connection },
    cause: error.cause ?? error,
  });
}

const disposed = new WeakSet<object>();

/** Whether an error is that of a use of a run that is over. */
export function isRunOver(error: object): boolean {
  return disposed.has(error);
}

/** The error of a use of a run that is over. */
export function runOver(connection?: string): McpSessionError {
  const start = connection === undefined ? "The" : `Connection ${connection}: the`;
  const error = new McpSessionError(
    "CONNECTION_UNAVAILABLE",
    `${start} run is over. Open one for each step. Wait for all that it starts, or return a stream: the run lasts as long as the stream.`,
    { data: { connection } },
  );
  disposed.add(error);
  return error;
}

type Emit = (event: ConnectionEvent) => void;

const told = new WeakSet<McpSessionError>();

/** Whether an event has told of an error. */
function isTold(error: unknown): boolean {
  return McpSessionError.isInstance(error) && told.has(error);
}

/**
 * Emits `unavailable`, or `authorization-required`, once for each error, however many callers see it.
 *
 * @param thrown what was thrown, of which `error` may be a copy
 */
export function emitUnavailable(
  emit: Emit,
  connection: string,
  error: McpSessionError,
  thrown: unknown = error,
): void {
  if (isTold(thrown)) return;
  told.add(error);
  const { reason, scopes = [], startUrl } = error.data;
  emit(
    error.code === "AUTHORIZATION_REQUIRED"
      ? { type: "authorization-required", connection, scopes, startUrl, error: withoutCause(error) }
      : { type: "unavailable", connection, reason, error: withoutCause(error) },
  );
}

/**
 * Emits the event for the error of a request, if it says that the connection cannot be used, or that it
 * broke. Other errors are no news of the connection, or have an event of their own.
 */
export function tellIfUnavailable(emit: Emit, connection: string, error: unknown): void {
  if (!McpSessionError.isInstance(error) || told.has(error)) return;
  const { code, data } = error;
  const type = isRunOver(error)
    ? "used-after-run"
    : code === "CONNECTION_INVALID" && isQuestion(error.cause) && "cannot-ask";
  if (type) {
    told.add(error);
    return emit({ type, connection });
  }
  const isOwnFunction = code === "CONNECTION_UNAVAILABLE" && data.field !== undefined;
  if (data.reason !== undefined || isOwnFunction || code === "AUTHORIZATION_REQUIRED") {
    emitUnavailable(emit, connection, error);
  }
}
