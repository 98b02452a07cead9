import {
  checkedClock,
  checkedLater,
  checkFunction,
  checkMs,
  checkOptions,
  checkStore,
  checkText,
  type OptionChecks,
  wholeFrom,
} from "../base/check-option.ts";
import { McpSessionError } from "../base/mcp-session-error.ts";
import { type Principal, principalParts } from "../session/principal.ts";
import type { WaitingFeature } from "../session/session-fetch-options.ts";
import type { SessionStore } from "../stores/session-store.ts";
import { lastFetch } from "../wire/last-fetch.ts";
import { parseEndpointUrl } from "../wire/server-endpoint.ts";
import { timeLimited } from "../base/bounded-wait.ts";
import { answerCall } from "./claims/answer-call.ts";
import { upToDate } from "./claims/current-call.ts";
import { isDue, lookAt } from "./claims/held-call.ts";
import { withdrawCall } from "./kept-calls.ts";
import type { InputResponses } from "./questions/input-request.ts";
import type { WaitingCall } from "./record/waiting-call.ts";
import {
  createWaitingContext,
  type WaitingContext,
  type WaitingEvent,
} from "./claims/waiting-context.ts";
import { createWaitingFetch } from "./steps/waiting-fetch.ts";
import { waitingLimitChecks, type WaitingLimits } from "./record/waiting-limits.ts";
import { notWaiting } from "./record/waiting-failure.ts";
import { describeWaiting } from "./record/describe-waiting.ts";
import type { WaitingError, WaitingRecord } from "./record/waiting-record.ts";
import { createWaitingStore } from "./record/waiting-store.ts";

/** Options of `createWaitingCalls`. */
export interface WaitingCallsOptions extends WaitingLimits {
  /** Keeps the calls, with compare-and-set. */
  readonly store: SessionStore;
  /** The agent session that the calls belong to, such as a chat. */
  readonly sessionId: string;
  /** On whose behalf the calls are made. Nobody else sees, answers or withdraws them. */
  readonly principal: Principal;
  /** Your name of the server. */
  readonly connection: string;
  /** The server's URL. Answers only go there. */
  readonly url: string | URL;
  /** The agent that owns the agent session. @default "default" */
  readonly agent?: string | undefined;
  /** Gets an event for each new state of a call. */
  readonly onEvent?: ((event: WaitingEvent) => void) | undefined;
  /** The clock, in milliseconds since 1970-01-01 UTC. @default Date.now */
  readonly now?: (() => number) | undefined;
}

const checks: OptionChecks<WaitingCallsOptions> = {
  store: checkStore,
  sessionId: checkText,
  principal: checkedLater,
  connection: checkText,
  url: checkedLater,
  agent: checkText,
  onEvent: checkFunction,
  now: checkFunction,
  ...waitingLimitChecks,
};

/** The waiting calls of one agent session, principal and server. `createSessionFetch` takes them as `waiting`. */
export interface WaitingCalls extends WaitingFeature {
  /** Those that wait or are being answered, in the order in which the server asked. */
  list(): Promise<WaitingCall[]>;
  /** One call, whatever its state, with the server's result or error if it is settled; `undefined` for an unknown id. */
  find(id: string): Promise<AnsweredCall | undefined>;
  /**
   * Takes a call back.
   *
   * @param options.fetch asks the server of a task or stream to stop; without it the server is not told
   * @throws {McpSessionError} `NOT_WAITING` for a call that is being answered or is over
   */
  withdraw(
    id: string,
    options?: { readonly fetch?: typeof globalThis.fetch | undefined },
  ): Promise<WaitingCall>;
}

/** A call after an answer. */
export interface AnsweredCall {
  readonly call: WaitingCall;
  /** Set if the call is settled, and the server has not answered with an error. */
  readonly result?: Readonly<Record<string, unknown>> | undefined;
  /** The server's JSON-RPC error, of a settled call. */
  readonly error?: WaitingError | undefined;
}

const contexts = new WeakMap<WaitingCalls, WaitingContext & { readonly url: URL }>();

/**
 * Lets the calls of a client wait beyond their step: for a person whom the server asks, for a task that it makes, for
 * an answer on a stream that can be resumed. They are kept in the store, and the client gets a result that
 * `waitingCallOf` recognizes. Any process answers later, with `answerWaitingCall`, and looks, with
 * `checkWaitingCalls`.
 *
 * @example
 * const waiting = createWaitingCalls({ store, sessionId: chatId, principal, connection: "shop", url });
 * const client = await createMCPClient({
 *   transport: { type: "http", url, fetch: createSessionFetch({ url, slot, waiting }) },
 * });
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the option; `PRINCIPAL_REQUIRED`
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr
 */
export function createWaitingCalls(options: WaitingCallsOptions): WaitingCalls {
  checkOptions(options, checks);
  const { store, sessionId, principal, connection, agent = "default", onEvent } = options;
  checkStore(store, "store");
  checkText(sessionId, "sessionId");
  checkText(connection, "connection");
  principalParts(principal);
  const url = parseEndpointUrl(options.url);
  const now = checkedClock(options.now);
  const calls = createWaitingStore(store, { agent, sessionId, principal }, now);
  const context = createWaitingContext(calls, { ...options, onEvent, now });
  const isOwn = (call: WaitingRecord) => call.connection === connection && call.url === url.href;
  const readOwn = async (id: string) => {
    const stored = await context.calls.read(id);
    return stored && isOwn(stored.call) ? stored : undefined;
  };
  const waiting: WaitingCalls = {
    async list() {
      const stored = await context.calls.list();
      // Those of other connections are for their own limits.
      const own = stored.filter(({ call }) => isOwn(call));
      const current = await Promise.all(own.map((each) => upToDate(context, each)));
      return current.map(({ call }) => describeWaiting(call)).filter(isOpen);
    },
    async find(id) {
      const stored = await readOwn(id);
      return stored && answered((await upToDate(context, stored)).call);
    },
    async withdraw(id, { fetch } = {}) {
      if ((await readOwn(id)) === undefined) throw notWaiting(undefined);
      return describeWaiting(await withdrawCall({ ...context, fetch }, id));
    },
    wrap: (fetch, slot) => createWaitingFetch(context, fetch, { url, connection, slot }),
  };
  contexts.set(waiting, { ...context, url });
  return waiting;
}

/** Options of `answerWaitingCall`. */
export interface AnswerWaitingCallOptions {
  /** Sends the answers: adds the token, for example. Nothing else is sent with it. @default globalThis.fetch */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** The round that the answers are for, so that a late answer never answers another question. @default any */
  readonly round?: number | undefined;
  /** Stops waiting for the server's answer. The outcome is unknown then. */
  readonly abortSignal?: AbortSignal | undefined;
  /** How long the server may take, in milliseconds. The outcome is unknown then. @default 300000 */
  readonly timeoutMs?: number | undefined;
}

const answerChecks: OptionChecks<AnswerWaitingCallOptions> = {
  fetch: checkFunction,
  round: wholeFrom(1),
  abortSignal: checkedLater,
  timeoutMs: checkMs,
};

/**
 * Answers a waiting call, in any process; of several answers at once one is sent. An answer to a task or stream that may
 * be lost goes out again, also by `checkWaitingCalls`: its server ignores the second.
 * @param responses an answer for each question, under the server's keys
 * @returns the call: `waiting` if the server asks more, `settled` with the result, `expired`, `outcome-unknown`
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the option; `INPUT_INVALID` for answers of another shape;
 *   `NOT_WAITING`; `STORE_FAILED`; `CONNECTION_UNAVAILABLE` if the server did not take the answers, and the questions
 *   still wait
 */
export async function answerWaitingCall(
  waiting: WaitingCalls,
  id: string,
  responses: InputResponses,
  options: AnswerWaitingCallOptions = {},
): Promise<AnsweredCall> {
  checkOptions(options, answerChecks);
  const { round, abortSignal, timeoutMs = 300_000 } = options;
  const fetch = lastFetch(options.fetch, timeoutMs);
  const context = contexts.get(waiting);
  if (context === undefined) throw notOurs();
  if ((await waiting.find(id)) === undefined) throw notWaiting(undefined);
  return answered(
    await timeLimited(timeoutMs, abortSignal, (signal) =>
      answerCall(context, id, responses, { url: context.url, fetch, round, signal }),
    ),
  );
}

/** Options of `checkWaitingCalls`. */
export type CheckWaitingCallsOptions = Pick<AnswerWaitingCallOptions, "fetch" | "abortSignal">;

/**
 * Looks at each call that is due, in any process: a request or two each, under a claim, not before its `pollAfter`.
 *
 * @returns the calls that were looked at, as they are then
 * @throws {McpSessionError} `CONNECTION_INVALID`, `STORE_FAILED`
 */
export async function checkWaitingCalls(
  waiting: WaitingCalls,
  options: CheckWaitingCallsOptions = {},
): Promise<WaitingCall[]> {
  checkOptions(options, { fetch: checkFunction, abortSignal: checkedLater });
  const leg = { fetch: lastFetch(options.fetch), signal: options.abortSignal };
  const context = contexts.get(waiting);
  if (context === undefined) throw notOurs();
  const stored = (await context.calls.list()).filter(({ call }) => call.url === context.url.href);
  const current = await Promise.all(stored.map((each) => upToDate(context, each)));
  // What a run watches, only a run can look at.
  const isOurs = (call: WaitingRecord) => call.type !== "watch" && isDue(call, context.now());
  const due = current.filter(({ call }) => isOurs(call));
  const looked = await Promise.all(due.map((each) => lookAt(context, each, leg)));
  return looked.map(({ call }) => describeWaiting(call));
}

/** A call as an application sees it, with its end. */
function answered(call: WaitingRecord): AnsweredCall {
  return { call: describeWaiting(call), ...call.answer };
}

function isOpen({ state, type }: WaitingCall): boolean {
  return (state === "waiting" || state === "answering") && type !== "sub-agent";
}

function notOurs(): McpSessionError {
  return new McpSessionError(
    "CONNECTION_INVALID",
    "waiting must come from createWaitingCalls of this copy of @durable-mcp/core.",
    { data: { field: "waiting" } },
  );
}
