import { abortable, noAnswer, timeLimited } from "../base/bounded-wait.ts";
import {
  checkedLater,
  checkMs,
  checkOptions,
  invalidOption,
  type OptionChecks,
  checkFunction,
} from "../base/check-option.ts";
import { McpSessionError } from "../base/mcp-session-error.ts";
import type { OwnRequest, SessionContext } from "../session/session-context.ts";
import { headersForEnd, headersForSession } from "../session/session-headers.ts";
import type { LiveSession } from "../session/slot-state.ts";
import { checkSnapshot, type SessionSnapshot } from "../session/session-snapshot.ts";
import { letGo } from "../wire/read-answer.ts";
import { answerOrReason, parseEndpointUrl, sendToEndpoint } from "../wire/server-endpoint.ts";

/** Options of `endSession`. */
export interface EndSessionOptions {
  /** The server's URL; must be the one in the snapshot. */
  url: string | URL;
  /** The session to end. For a snapshot of another kind, nothing is sent. */
  snapshot: SessionSnapshot;
  /** Headers of the request, such as `Authorization`. */
  headers?: RequestInit["headers"];
  /** @default globalThis.fetch */
  fetch?: typeof globalThis.fetch | undefined;
  /** How long to wait for the answer, in milliseconds. @default 5000 */
  timeoutMs?: number | undefined;
}

const endTimeoutMs = 5_000;
const endSessionChecks: OptionChecks<EndSessionOptions> = {
  url: checkedLater,
  snapshot: checkedLater,
  headers: checkHeaders,
  fetch: checkFunction,
  timeoutMs: checkMs,
};

/** The error of `Headers` repeats the wrong value, which may be a token. */
function checkHeaders(value: unknown, field: string): void {
  try {
    void new Headers(value as RequestInit["headers"]);
  } catch {
    throw invalidOption(field, "must be what `new Headers` takes");
  }
}

/** The outcome of ending a session on its server. */
export interface SessionEnd {
  /** Whether the session is over: 2xx, 404 (it was over already) or 405 (the server ends sessions itself). */
  readonly ended: boolean;
  /** The HTTP status, if there was an answer. */
  readonly status?: number;
  /**
   * Why it did not end. `no-session`: the snapshot has no session. `refused`: the server refused.
   * `timeout`: the server did not answer in time. `unreachable`: no answer, or a redirect.
   */
  readonly reason?: "no-session" | "refused" | "timeout" | "unreachable";
  readonly cause?: unknown;
}

/**
 * Ends a session on the server with DELETE. (The session fetch answers a client's DELETE locally.) It
 * never throws because of the server or the network.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the option; `STATE_INVALID` if the snapshot is
 *   for another URL
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management
 */
export async function endSession(options: EndSessionOptions): Promise<SessionEnd> {
  checkOptions(options, endSessionChecks);
  const { url, snapshot, headers, fetch = globalThis.fetch, timeoutMs = endTimeoutMs } = options;
  const endpoint = parseEndpointUrl(url);
  checkSnapshot(snapshot);
  if (snapshot.url !== endpoint.href) {
    const { origin } = endpoint;
    throw new McpSessionError(
      "STATE_INVALID",
      `The snapshot belongs to another URL than the given one at ${origin}. Pass the session's own URL, because its id may go nowhere else.`,
      { data: { field: "url", origin } },
    );
  }
  if (snapshot.kind !== "session") return { ended: false, reason: "no-session" };
  const way = { url: endpoint, fetch };
  const end = { method: "DELETE", headers: headersForSession(new Headers(headers), snapshot) };
  const late = noAnswer(timeoutMs);
  // Some fetches ignore the signal.
  const ending = (signal: AbortSignal) =>
    abortable(sendToEndpoint(way, { ...end, signal }), signal);
  try {
    const response = await timeLimited(timeoutMs, undefined, ending, late);
    letGo(response);
    const { status } = response;
    const ended = response.ok || status === 404 || status === 405;
    return ended ? { ended, status } : { ended, status, reason: "refused" };
  } catch (cause) {
    return { ended: false, reason: cause === late ? "timeout" : "unreachable", cause };
  }
}

type Ended = LiveSession | { readonly kind: "session"; readonly sessionId: string };

/**
 * Ends a session that nobody uses, best effort, with the credentials of `request`. Nobody waits for it but
 * `slot.settle()`, and it ends after 5 seconds.
 *
 * @param session a session without a name is not ended
 */
export function endUnused(
  context: SessionContext,
  session: Ended | undefined,
  request: Pick<OwnRequest, "headers" | "init">,
): void {
  const { endings } = context.state;
  const ending = endLost(context, session, request).finally(() => endings.delete(ending));
  endings.add(ending);
}

/** The same for a session that the server has probably lost. Nobody at all waits for it. */
export async function endLost(
  context: SessionContext,
  session: Ended | undefined,
  { headers, init }: Pick<OwnRequest, "headers" | "init">,
): Promise<void> {
  if (session?.kind !== "session") return;
  const version =
    "initializeResult" in session ? session.initializeResult.protocolVersion : undefined;
  const own = headersForEnd(headers, session.sessionId, version);
  await timeLimited(endTimeoutMs, undefined, (signal) => {
    const request = { method: "DELETE", headers: own, signal, init };
    return answerOrReason(sendToEndpoint(context, request), signal);
  }).then(letGo, () => undefined);
}
