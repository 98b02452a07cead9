import {
  checkedLater,
  checkMs,
  flag,
  group,
  mustBe,
  oneOf,
  wholeFrom,
  type OptionCheck,
  type OptionChecks,
  checkFunction,
} from "../base/check-option.ts";
import { isRecord } from "../base/json-values.ts";
import type { JsonRpcRequest } from "../wire/json-rpc.ts";
import { anyLastingClient, type LastingClient } from "./lasting-client.ts";
import type { RefusedAnswer, SessionLoss } from "./lost-session.ts";
import type { SessionEvent } from "./session-event.ts";
import type { SessionSlot } from "./session-slot.ts";
import type { ActiveSessionSnapshot, SessionSnapshot } from "./session-snapshot.ts";

/** Options of `createSessionFetch`. Time-outs are whole milliseconds from 1 to 2147483647. */
export interface SessionFetchOptions {
  /** The server's URL. Only requests to exactly this URL take part in the session. */
  url: string | URL;
  /** Holds the session; from `createSessionSlot`. */
  slot: SessionSlot;
  /**
   * Sends the requests. If you pass one, you also vouch for requests to other origins (OAuth), which are refused
   * otherwise. @default globalThis.fetch
   */
  fetch?: typeof globalThis.fetch | undefined;
  /**
   * Whether clients may open a stream of server messages (GET). Clients that declare sampling, elicitation or
   * roots need it. A step is too short to listen otherwise. @default false
   */
  listening?: boolean | undefined;
  /**
   * Whether a client that probes (`server/discover`) uses a server that names no session in revision 2026-07-28, if it
   * speaks that: its questions and tasks can wait there. @default false
   */
  statelessIfUnnamed?: boolean | undefined;
  /**
   * Whether an aborted request is cancelled on the client's behalf (`notifications/cancelled`, best
   * effort). A function is called at each abort. @default false
   */
  cancelOnAbort?: boolean | (() => boolean) | undefined;
  /** What counts as a loss of the session, and what follows. */
  recovery?: RecoveryOptions | undefined;
  /** Sends some requests to a second session. @default none */
  except?: SecondSession | undefined;
  readonly timeouts?:
    | {
        /** For `initialize` and for `notifications/initialized`, each, in milliseconds. @default 30000 */
        readonly initializeMs?: number | undefined;
        /**
         * The longest silence of the server while a request waits for its answer, in milliseconds. After
         * that the request is cancelled and fails with `OUTCOME_UNKNOWN`. It stands still while a client that
         * declares elicitation answers a question. @default 300000
         */
        readonly answerMs?: number | undefined;
        /** For `onStart`, in milliseconds. @default 60000 */
        readonly startMs?: number | undefined;
      }
    | undefined;
  /** Limits the age and the size of a kept tool list. */
  toolList?:
    | (ToolListOptions & {
        /**
         * Whether the tools of each new session are listed before it is saved, for clients that list next. Then
         * the session and its tools are one save. @default false
         */
        readonly beforeSave?: boolean | undefined;
      })
    | undefined;
  /**
   * Prepares each new session, the first one and those after a recovery, before it is saved and before anything
   * else is sent on it. If it throws or takes too long, the handshake fails, the session ends, and the slot has
   * none. It is not called for servers that name no session.
   */
  onStart?: OnStart | undefined;
  /**
   * The save point. The fetch waits for it after the server acknowledged `notifications/initialized`,
   * before any other request goes on. If it throws, the handshake fails.
   */
  onSession?: OnSession | undefined;
  /**
   * Asked before an `initialize` in the place of a session that this fetch has lost: gives the session that another
   * process has saved meanwhile. The fetch goes on in it. If it throws, the request fails.
   */
  findSession?: (() => Promise<ActiveSessionSnapshot | undefined>) | undefined;
  /**
   * Lets calls wait beyond the step: from `createWaitingCalls`. A server that speaks both a revision with sessions
   * and one without then keeps no session, because each of its questions can wait there. @default none do
   */
  waiting?: WaitingFeature | undefined;
  /**
   * Keeps the discovery and the lists of servers without sessions, as long as the server allows: from
   * `createServerMemory`. @default nothing is kept
   */
  memory?: ServerMemory | undefined;
  /** The clients of a gateway, which come back to any process. @internal */
  lasting?: LastingClient | undefined;
  /** Gets the events of the session, and the server's notifications. */
  onEvent?: ((event: SessionEvent) => void) | undefined;
  /** The clock, in milliseconds since 1970-01-01 UTC. @default Date.now */
  now?: (() => number) | undefined;
}

/** A second session, for some requests. */
export interface SecondSession {
  /** Holds the second session. Do not save it, and end its session with `endSession`. */
  readonly slot: SessionSlot;
  /** Whether a request goes to the second session. */
  readonly matches: (request: JsonRpcRequest) => boolean;
}

/** The argument of `onStart`. */
export interface SessionStart {
  /** `"started"`: the slot's first session. `"recovered"`: it took the place of a lost one. */
  readonly reason: "started" | "recovered";
  /**
   * For any MCP client. It talks to the new session and answers the client's handshake from it. It works
   * until the hook is over. If the session is lost meanwhile, requests fail with `SESSION_LOST`.
   */
  readonly fetch: typeof globalThis.fetch;
  /** Aborts when the hook takes too long. */
  readonly abortSignal: AbortSignal;
}

/** Prepares a new session before anything else is sent on it. If it throws, the handshake fails. */
export type OnStart = (start: SessionStart) => void | Promise<void>;

/** Wraps the fetch beneath a session fetch. */
export interface WaitingFeature {
  /** @internal */
  readonly wrap: (fetch: typeof globalThis.fetch, slot?: SessionSlot) => typeof globalThis.fetch;
}

/** Keeps what a server allows to keep; from `createServerMemory`. */
export interface ServerMemory {
  readonly feature: "ServerMemory";
}

/** The recovery of a lost session. */
export interface RecoveryOptions {
  /** What follows the loss of a session. @default "replace" */
  readonly onLoss?: LossPolicy | undefined;
  /** Whether a request that met a lost session is sent again on the new one. @default "safe" */
  readonly resend?: ResendPolicy | undefined;
  /**
   * Decides whether an answer that is not 2xx means a loss, for servers with a dialect of their own.
   * `undefined` leaves it to the built-in rule.
   */
  readonly classifyLoss?: ((answer: RefusedAnswer) => SessionLoss | undefined) | undefined;
  /** Runs around each recovery, to measure it. */
  readonly around?: AroundRecovery | undefined;
}

/**
 * What follows the loss of a session.
 *
 * - `"replace"`: a new session takes its place.
 * - `"retry"`: the request is first tried once more with the same id, for load balancers that sometimes
 *   pick the wrong replica. If `resend` forbids sending the request again, a ping is sent instead.
 * - `"report"`: it is reported (`SESSION_LOST`, or `OUTCOME_UNKNOWN` if it is only probable), for callers
 *   that open the next session elsewhere.
 */
export type LossPolicy = "replace" | "retry" | "report";

/**
 * Whether a request that met a lost session is sent again on the replacement.
 *
 * - `"safe"`: after a definite loss always, because the server refused it unprocessed; after a probable
 *   loss only lists, reads and pings.
 * - a function: as `"safe"`, and after a probable loss other requests for which it returns `true`.
 * - `"always"`: after any loss.
 * - `"never"`: after no loss; the session is replaced, and the request fails.
 */
export type ResendPolicy = "safe" | "always" | "never" | ((request: JsonRpcRequest) => boolean);

/** Limits of a kept tool list, and of the kept handshake of a server without sessions. */
export interface ToolListOptions {
  /** What is older than this, in milliseconds, is asked for again. @default 3600000 (1 hour) */
  readonly maxAgeMs?: number;
  /** A longer list, in characters of JSON, is only kept for the step. @default 200000; in a store, what a record takes */
  readonly maxLength?: number | undefined;
}

/** The save point. It may return the snapshot that another process saved first: the fetch goes on with that one. */
export type OnSession = (
  snapshot: ActiveSessionSnapshot,
) => SessionSnapshot | void | Promise<SessionSnapshot | void>;

/** The outcome of a recovery. Without a `status` a new session took the place of the lost one. */
export interface RecoveryOutcome {
  /** The HTTP status with which the server refused a new session. */
  readonly status?: number | undefined;
}

/**
 * Runs around each recovery, in the asynchronous context of the request that met the loss. It calls `recover`, which
 * rejects if the recovery fails without a refusal. Its own result or error changes nothing.
 */
export type AroundRecovery = (recover: () => Promise<RecoveryOutcome>) => Promise<unknown>;

const orFunction =
  (check: OptionCheck): OptionCheck =>
  (value, field) =>
    typeof value === "function" || check(value, field);
const anyMemory = mustBe(
  "from createServerMemory",
  (value) => isRecord(value) && value["feature"] === "ServerMemory",
);
const anyWaiting = mustBe(
  "from createWaitingCalls",
  (value) => isRecord(value) && typeof value["wrap"] === "function",
);

const exceptChecks = group<SecondSession>({ slot: checkedLater, matches: checkFunction });
const anyException: OptionCheck = (value, field) => {
  exceptChecks(value, field);
  checkFunction((value as SecondSession).matches ?? null, `${field}.matches`);
};

/** The checks of all options. `url` and `slot` are required, and checked by the code that reads them. */
export const sessionFetchChecks: OptionChecks<SessionFetchOptions> = {
  url: checkedLater,
  slot: checkedLater,
  fetch: checkFunction,
  listening: flag,
  statelessIfUnnamed: flag,
  cancelOnAbort: orFunction(flag),
  recovery: group({
    onLoss: oneOf("replace", "retry", "report"),
    resend: orFunction(oneOf("safe", "always", "never")),
    classifyLoss: checkFunction,
    around: checkFunction,
  }),
  except: anyException,
  timeouts: group({ initializeMs: checkMs, answerMs: checkMs, startMs: checkMs }),
  toolList: group({ maxAgeMs: wholeFrom(0), maxLength: wholeFrom(0), beforeSave: flag }),
  onStart: checkFunction,
  onSession: checkFunction,
  findSession: checkFunction,
  waiting: anyWaiting,
  memory: anyMemory,
  lasting: anyLastingClient,
  onEvent: checkFunction,
  now: checkFunction,
};
