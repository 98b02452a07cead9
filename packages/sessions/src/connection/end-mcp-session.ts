import {
  type ActiveSessionSnapshot,
  createSessionFetch,
  createSessionSlot,
  endSession,
  type McpSessionError,
  type Principal,
  sessionFailure,
  type SessionSlot,
  type SessionSnapshot,
} from "@durable-mcp/core";
import { abortable, isLost, readText, withTimeLimit } from "@durable-mcp/core/internal";
import type { ConnectionContext } from "../declare/connection-context.ts";
import { type DeclaredServer, endpointOf, sessionOptions } from "../declare/define-connection.ts";
import { authorizationRequired } from "../events/connection-error.ts";
import type { ServerCheck } from "./live-connection.ts";
import { createConnectionFetch } from "./connection-fetch.ts";

/** A stored session, used outside of a step's run. */
interface McpSessionUse {
  /** `undefined` if the connection is no longer declared. */
  readonly definition: DeclaredServer | undefined;
  readonly connection: string;
  readonly principal: Principal;
  readonly snapshot: SessionSnapshot | undefined;
  readonly timeoutMs?: number | undefined;
  readonly now: () => number;
}

/** The outcome of ending one MCP session on its server, without the error. */
export type McpSessionEnd =
  | { readonly ended: true; readonly status?: number }
  | { readonly ended: false; readonly status?: number; readonly reason: EndFailure };

type EndFailure = "refused" | "timeout" | "unreachable";

/**
 * Ends one MCP session with DELETE, with the connection's own headers and token. Never rejects, and
 * takes `timeoutMs` at most. The snapshot must be of the connection's URL.
 */
export async function endMcpSession(
  use: McpSessionUse & { definition: DeclaredServer; snapshot: ActiveSessionSnapshot },
): Promise<McpSessionEnd> {
  const { definition, connection, principal, snapshot, timeoutMs, now } = use;
  const closing = new AbortController();
  const context: ConnectionContext = { principal, connection, abortSignal: closing.signal };
  try {
    const { ended, status, reason } = await endSession({
      url: definition.options.url,
      snapshot,
      fetch: fetchOnce(definition, context, now),
      timeoutMs,
    });
    const answer = status === undefined ? {} : { status };
    if (ended) return { ended, ...answer };
    // The snapshot has a session, so the reason is never `no-session`.
    return { ended, ...answer, reason: reason as EndFailure };
  } finally {
    // Tells a `getToken` that is still running that nobody waits for it.
    closing.abort();
  }
}

/** A connection's fetch outside of a step's run. */
function fetchOnce(
  definition: DeclaredServer,
  context: ConnectionContext,
  now: () => number,
): typeof globalThis.fetch {
  return createConnectionFetch(definition.options, context, { now }).fetch;
}

/** Asks the server whether it has a stored session. Never rejects; takes `timeoutMs` at most. */
export async function pingSession(
  use: McpSessionUse & { timeoutMs: number },
): Promise<ServerCheck & { readonly connection: string }> {
  const { definition, connection, principal, snapshot, timeoutMs, now } = use;
  if (!definition || snapshot?.kind !== "session" || snapshot.url !== endpointOf(definition)) {
    return { connection, alive: false, reason: "no-session" };
  }
  const url = new URL(snapshot.url);
  const signal = withTimeLimit(timeoutMs);
  const slot = createSessionSlot(snapshot);
  const fetch = createSessionFetch({
    url,
    slot,
    fetch: fetchOnce(definition, { principal, connection, abortSignal: signal }, now),
    recovery: { classifyLoss: sessionOptions(definition).classifyLoss, onLoss: "report" },
  });
  try {
    // A fetch or a `getToken` of the application may ignore the signal.
    const { status, failure } = await abortable(ping(fetch, url, slot, signal), signal);
    if (status !== undefined) return { connection, alive: false, reason: "refused", status };
    if (failure !== undefined) return { connection, alive: false, reason: "unreachable" };
    return { connection, alive: true };
  } catch (error) {
    if (signal.aborted) return { connection, alive: false, reason: "timeout" };
    if (authorizationRequired(error)) {
      return { connection, alive: false, reason: "authorization-required" };
    }
    const status = (error as { data?: { status?: number } }).data?.status;
    const reason = isLost(slot.snapshot) ? "lost" : "unreachable";
    return { connection, alive: false, reason, ...(status !== undefined && { status }) };
  }
}

/** The answer to a ping is shorter than this. */
const maxPingBytes = 1_048_576;

/**
 * Sends a ping on the session of a slot.
 *
 * @param fetch a session fetch on the slot
 * @returns with the `status` of a refusal, or the `failure` of an answer that broke off; with neither if
 *   the server answered
 */
export async function ping(
  fetch: typeof globalThis.fetch,
  url: URL,
  slot: SessionSlot,
  signal: AbortSignal,
): Promise<{ status?: number; failure?: McpSessionError | undefined }> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 0, method: "ping" }),
    signal,
  });
  if (!response.ok) {
    await response.body?.cancel();
    return { status: response.status };
  }
  const text = await readText(response, maxPingBytes);
  // An answer that broke off arrives as an error of ours.
  const failures = errorsIn(text).map((error) => sessionFailure(slot, error));
  return { failure: failures.find((failure) => failure !== undefined) };
}

/** The JSON-RPC errors in an answer: one message of JSON, or events. */
function errorsIn(text: string): unknown[] {
  return text.split("\n").flatMap((line) => {
    try {
      return [(JSON.parse(line.replace(/^data: ?/, "")) as { error?: unknown }).error];
    } catch {
      return [];
    }
  });
}
