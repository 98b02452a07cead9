import { McpSessionError, type McpSessionErrorData } from "@durable-mcp/core";
import { connectionFailure, isRecord, mayHaveRun } from "@durable-mcp/core/internal";

/** How requests are sent. */
export interface Sending {
  /** The guarded `fetch`: it bounds answers and time, and refuses redirects. */
  readonly fetch: typeof globalThis.fetch;
  readonly signal?: AbortSignal | undefined;
}

/** An answer of a server, whole. */
export interface ServerAnswer {
  readonly type: "answer";
  readonly status: number;
  readonly text: string;
  /** The object in the text; `undefined` if there is none. */
  readonly json: Readonly<Record<string, unknown>> | undefined;
  /** Whether the server calls the answer JSON. */
  readonly isJson: boolean;
  /** For the next proof (RFC 9449). */
  readonly dpopNonce: string | null;
  readonly retryAfter: string | null;
  /** Whether a gateway may have given it after the server has done its work. */
  readonly isUncertain: boolean;
}

/**
 * A request that brought nothing.
 *
 * - `no`: it was certainly not sent.
 * - `answered`: the server, or what stands before it, refused to work on it.
 * - `perhaps`: nobody knows whether it was carried out.
 */
export interface RequestFailed {
  readonly type: "failed";
  readonly sent: "no" | "answered" | "perhaps";
  readonly error: McpSessionError;
}

/** A request, as messages name it. */
export interface RequestName {
  readonly method: "GET" | "POST";
  readonly url: URL;
}

/**
 * Sends one request, and reads its answer. What failed is in words that hold nothing of what was sent.
 *
 * @param send sends once with the `fetch` given to it
 */
export async function sendRequest(
  name: RequestName,
  { fetch, signal }: Sending,
  send: (fetch: typeof globalThis.fetch, signal: AbortSignal | undefined) => Promise<Response>,
): Promise<ServerAnswer | RequestFailed> {
  const isOver = () => signal?.aborted === true;
  if (isOver()) return overBy(name, signal?.reason, "no");
  let isAnswered = false;
  let isSending = false;
  const onceFetch: typeof globalThis.fetch = async (input, init) => {
    isSending = true;
    return await fetch(input, init);
  };
  try {
    const response = await send(onceFetch, signal);
    isAnswered = response.status >= 400 && !mayHaveRun(response.status, response.headers);
    return readAnswer(response, await response.text());
  } catch (error) {
    if (McpSessionError.isInstance(error)) {
      const sent = sentBefore(error);
      return { type: "failed", sent, error };
    }
    if (!isSending) return failed(name, "no", `${wordsOf(error)}. Nothing was sent.`);
    const sent = isAnswered ? "answered" : "perhaps";
    if (isOver()) return overBy(name, signal?.reason, sent);
    const failure = connectionFailure(error);
    if (failure === undefined) return failed(name, sent, "the `fetch` failed.");
    const { reason, words } = failure;
    return failed(name, failure.sent === "never" ? "no" : sent, words, { reason });
  }
}

/**
 * Throws what ended a request: the reason of a caller that took it back, or else the failure.
 *
 * @throws {McpSessionError} `CONNECTION_UNAVAILABLE`, and what the guard throws
 */
export function throwFailed({ error }: RequestFailed, signal: AbortSignal | undefined): never {
  throw signal?.aborted === true && !isTimeout(signal.reason) ? signal.reason : error;
}

/** An error of a request, with what the server has to do with it. */
export function requestError(
  { method, url }: RequestName,
  why: string,
  data: McpSessionErrorData = {},
): McpSessionError {
  const { status } = data;
  const withStatus = status === undefined ? "" : ` (HTTP ${status})`;
  return new McpSessionError(
    "CONNECTION_UNAVAILABLE",
    `${method} at ${url.origin}${withStatus}: ${why}`,
    { data: { method, origin: url.origin, ...data } },
  );
}

function overBy(name: RequestName, reason: unknown, sent: RequestFailed["sent"]): RequestFailed {
  return isTimeout(reason)
    ? failed(name, sent, "no answer came in time.", { reason: "timeout" })
    : failed(name, sent, "the caller took the request back.");
}

function isTimeout(reason: unknown): boolean {
  return isRecord(reason) && reason["name"] === "TimeoutError";
}

function failed(
  name: RequestName,
  sent: RequestFailed["sent"],
  why: string,
  data?: McpSessionErrorData,
): RequestFailed {
  return { type: "failed", sent, error: requestError(name, why, data) };
}

/** What the guard says: no answer, a redirect, or an answer that is too large. */
function sentBefore({ data: { reason, status } }: McpSessionError): RequestFailed["sent"] {
  if (reason === "redirect") return "answered";
  if (status === undefined) return "no";
  return status >= 400 && !mayHaveRun(status) ? "answered" : "perhaps";
}

/** Errors before anything was sent are of this project or of oauth4webapi, about metadata and keys. */
function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : "the request could not be made";
}

function readAnswer({ status, headers }: Response, text: string): ServerAnswer {
  const contentType = headers.get("content-type")?.split(";")[0]?.trim().toLowerCase() ?? "";
  const isJson = contentType === "application/json" || contentType.endsWith("+json");
  const isUncertain = mayHaveRun(status, headers);
  const dpopNonce = headers.get("dpop-nonce");
  const retryAfter = headers.get("retry-after");
  const known = { status, text, json: jsonObject(text), isJson, isUncertain };
  return { type: "answer", ...known, dpopNonce, retryAfter };
}

function jsonObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
