import { McpSessionError } from "../../base/mcp-session-error.ts";
import { isRecord } from "../../base/json-values.ts";
import { randomToken } from "../../base/random-token.ts";
import { abortable } from "../../base/bounded-wait.ts";
import {
  isOfRouter,
  mayFollowWork,
  refusesUnprocessed,
  saysNothing,
} from "../../session/lost-session.ts";
import {
  connectionBroke,
  failed,
  type Failed,
  outcomeUnknown,
} from "../../session/session-errors.ts";
import type { JsonRpcResponse } from "../../wire/json-rpc.ts";
import { mayHaveRun } from "../../wire/connection-failure.ts";
import {
  answerIn,
  letGo,
  readAnswer,
  readRefusal,
  rewriteRefusal,
} from "../../wire/read-answer.ts";
import { answerOrReason, sendToEndpoint } from "../../wire/server-endpoint.ts";
import {
  areRequests,
  type InputResponses,
  isSafeQuestion,
  urlsWanted,
} from "../questions/input-request.ts";
import type { Question } from "../record/waiting-life.ts";
import { withoutMarks } from "../record/waiting-call.ts";
import { taskIn, unusableTask } from "./task-result.ts";
import type { Held } from "../record/held.ts";
import type { WaitingAnswer, WaitingRecord } from "../record/waiting-record.ts";
import type { Inbox } from "../record/inbox.ts";
import type { AskServer } from "./watched-resource.ts";

/** The outcome of a leg. */
export type LegOutcome =
  | { readonly type: "asks"; readonly question: Question }
  | { readonly type: "settles"; readonly answer: WaitingAnswer }
  /** The server works on, and keeps the call. It is asked again after `pollMs` milliseconds. */
  | {
      readonly type: "goes-on";
      readonly held: Held;
      readonly pollMs: number;
      readonly unsure?: WaitingRecord["unsure"];
    }
  /** The server no longer takes the `requestState`. Nothing was carried out. */
  | { readonly type: "expired" }
  /** It was certainly not carried out. A look is made again after `pollMs` milliseconds. */
  | { readonly type: "not-sent"; readonly error: unknown; readonly pollMs?: number | undefined }
  /** Nobody knows whether it was carried out. */
  | { readonly type: "unknown"; readonly error: unknown };

export interface LegOptions {
  /** Adds the connection's headers and token. */
  readonly fetch: typeof globalThis.fetch;
  readonly signal?: AbortSignal | undefined;
  /** Notes how a call can be found again, before the server says more. */
  readonly onHeld?: ((held: Held) => Promise<void>) | undefined;
  /** Hears that nobody knows whether an answer came, and that it came when it was sent again. */
  readonly onAnswer?: ((delivery: "unsure" | "delivered") => void) | undefined;
  /** Asks for what is watched. @default nobody can */
  readonly ask?: AskServer | undefined;
  /** Where it is kept. */
  readonly inbox?: Inbox | undefined;
  readonly now?: (() => number) | undefined;
}

/**
 * Sends one leg of a call, once: the same request again, with the answers and the server's `requestState`.
 * Never rejects.
 *
 * @param responses the answers to the questions; `undefined` for a first leg, which starts the call over
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr
 */
export async function sendLeg(
  { url: endpoint, request: { method, params, headers }, requestState, isRefused }: WaitingRecord,
  responses: InputResponses | undefined,
  { fetch, signal }: LegOptions,
): Promise<LegOutcome> {
  const url = new URL(endpoint);
  // The answer must name it, so that no other request's is taken for it.
  const id = randomToken();
  const leg = responses &&
    !isRefused && {
      ...(Object.keys(responses).length > 0 && { inputResponses: responses }),
      ...(requestState !== undefined && { requestState }),
    };
  const body = JSON.stringify({ jsonrpc: "2.0", id, method, params: { ...params, ...leg } });
  if (signal?.aborted) return { type: "not-sent", error: signal.reason };
  let response: Response | undefined;
  try {
    const sending = sendToEndpoint(
      { url, fetch },
      { method: "POST", headers: legHeaders(headers), body, signal },
    );
    response = await (signal ? answerOrReason(sending, signal) : sending);
    const { ok, status } = response;
    const refused = { method, url, status };
    const text = ok ? "" : await abortable(readRefusal(response), signal);
    const isOfGate = gateStatuses.has(status) || refusesUnprocessed({ status, body: text });
    const answer = ok ? await abortable(readAnswer(response, id), signal) : answerIn(text, id);
    const outcome = answer && !isOfGate ? outcomeOf(answer) : undefined;
    if (outcome !== undefined) return outcome;
    // The session is gone on which it was refused. On another it would be another call.
    if (isRefused && isOfGate && !gateStatuses.has(status)) return { type: "expired" };
    const isUndone = !ok && isRefusal(response, text, refused);
    return isUndone
      ? { type: "not-sent", error: legRefused(refused, text) }
      : { type: "unknown", error: outcomeUnknown(refused, undefined) };
  } catch (cause) {
    letGo(response);
    const request = { method, url, cause };
    // The reason of an abort tells nothing.
    if (signal?.aborted) return { type: "unknown", error: outcomeUnknown(request, undefined) };
    const isHalfRead = response?.ok ?? false;
    const error = isHalfRead ? outcomeUnknown(request, undefined) : connectionBroke(request);
    // An error of the application's fetch tells nothing.
    const isKnown = McpSessionError.isInstance(error) && error.code !== "OUTCOME_UNKNOWN";
    return { type: isKnown ? "not-sent" : "unknown", error };
  }
}

function legHeaders(recorded: Readonly<Record<string, string>>): Headers {
  const headers = new Headers(recorded);
  headers.set("content-type", "application/json");
  headers.set("accept", "application/json, text/event-stream");
  return headers;
}

/** With these statuses something refuses that stands before the server's methods. */
export const gateStatuses: ReadonlySet<number> = new Set([401, 403, 429, 503]);

export function legRefused(request: Failed, body?: string): McpSessionError {
  // A gateway may send a 404 without words as well.
  const isClaimed = request.status !== 404 || !saysNothing(body ?? "");
  const undone = isClaimed ? ", and nothing was carried out" : "";
  const why = `the server refused the request${undone}. The call still waits; try again.`;
  const reason = request.status === 401 ? "authorization-required" : "refused";
  return failed("CONNECTION_UNAVAILABLE", request, why, reason);
}

/** Whether a request was not carried out, as its HTTP answer says, which is not 2xx. */
function isRefusal(
  { status, headers }: Response,
  body: string,
  request: { readonly method: string },
): boolean {
  const answer = { status, body };
  return isOfRouter(answer) || (!mayHaveRun(status, headers) && !mayFollowWork(answer, request));
}

/** Whether a request was certainly not carried out, and an answer like the given one. */
export async function readFate(answer: Response, request: { readonly method: string }) {
  let body = "";
  const response = await rewriteRefusal(answer, (text) => (body = text));
  return { response, isUndone: !response.ok && isRefusal(response, body, request) };
}

/** `undefined` for what is neither a question nor a complete result nor an error. */
function outcomeOf(answer: JsonRpcResponse): LegOutcome | undefined {
  const open = openOutcome(answer);
  if (open !== undefined) return open;
  const { result, error } = answer;
  if (isRecord(error)) {
    const { code, message, data } = error;
    if (typeof code !== "number") return undefined;
    const reason = isRecord(data) ? data["reason"] : undefined;
    if (reason === "invalid_request_state") return { type: "expired" };
    return { type: "settles", answer: { error: { ...error, message: message ?? "" } } };
  }
  const complete = completeResult(result);
  return complete && { type: "settles", answer: { result: withoutMarks(complete) } };
}

/**
 * What a server's answer says of a call that is not over; `undefined` for any other answer.
 *
 * @param isAsked whether the call may wait for a person whom its server refuses to go on without
 */
export function openOutcome(
  { result, error }: Pick<JsonRpcResponse, "result" | "error">,
  isAsked = true,
): LegOutcome | undefined {
  const question = questionOf(result) ?? (isAsked ? urlsWanted(error) : undefined);
  if (question !== undefined) return { type: "asks", question };
  const task = taskIn(result);
  if (task) return { type: "goes-on", held: task, pollMs: task.intervalMs };
  const failure = unusableTask(result);
  return failure && { type: "unknown", error: failure };
}

/**
 * The questions in a server's result; `undefined` if it has none. A result that neither asks nor has a state would
 * only have the call sent again, and one that is malformed cannot be answered: both are for the client to refuse.
 */
export function questionOf(result: unknown): Question | undefined {
  if (!isRecord(result) || result["resultType"] !== "input_required") return undefined;
  // Some languages print what is not there as null.
  const inputRequests = result["inputRequests"] ?? {};
  const requestState = result["requestState"] ?? undefined;
  if (!areRequests(inputRequests) || !Object.values(inputRequests).every(isSafeQuestion))
    return undefined;
  if (typeof requestState === "string") return { requests: inputRequests, requestState };
  const asks = requestState === undefined && Object.keys(inputRequests).length > 0;
  return asks ? { requests: inputRequests } : undefined;
}

/**
 * A server's complete result, with its `resultType`: one without is complete too, and clients refuse it.
 * `undefined` for a result of another kind.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic#resulttype
 */
export function completeResult(result: unknown): Record<string, unknown> | undefined {
  if (!isRecord(result)) return undefined;
  const { resultType = "complete" } = result;
  return resultType === "complete" ? { ...result, resultType } : undefined;
}
