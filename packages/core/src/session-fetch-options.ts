import type { AroundRecovery } from "./handshake/handshake.ts";
import type { JsonRpcRequest } from "./wire/json-rpc.ts";
import type { RefusedAnswer, SessionLoss } from "./session/lost-session.ts";
import type { ResendPolicy } from "./exchange/resend-policy.ts";
import type { EmitSessionEvent } from "./session/session-event.ts";
import type { SessionSlot } from "./session/session-slot.ts";
import type { OnSession, OnStart } from "./handshake/handshake-context.ts";
import type { ToolListOptions } from "./tools/tool-list.ts";

export interface SessionFetchOptions {
  /** The server's URL. Only requests to exactly this URL take part in the session. */
  url: string | URL;
  /** Holds the session; from `createSessionSlot`. */
  slot: SessionSlot;
  /**
   * Sends the requests. If you pass one, you also vouch for requests to other origins (see
   * `allowOtherOrigins`). @default globalThis.fetch
   */
  fetch?: typeof globalThis.fetch | undefined;
  /**
   * Whether requests to other origins (OAuth) may pass. Without it they fail with
   * `FETCH_REQUIRED`. @default whether `fetch` was given
   */
  allowOtherOrigins?: boolean | undefined;
  /** Whether redirects within the origin are followed. @default "refuse" */
  redirect?: "refuse" | "same-origin" | undefined;
  /**
   * Whether a client may open a stream of server messages (GET). Needed by clients that declare
   * sampling, elicitation or roots. A step is too short to listen otherwise. @default false
   */
  listen?: boolean | undefined;
  /**
   * Whether an aborted request is cancelled on the client's behalf (`notifications/cancelled`, best
   * effort). A function is called at each abort. @default false
   */
  cancelOnAbort?: boolean | (() => boolean) | undefined;
  /**
   * Whether a lost session is replaced. Otherwise the loss is reported (`SESSION_LOST`, or
   * `OUTCOME_UNKNOWN` if it is only probable), for callers that open the next session elsewhere.
   * @default true
   */
  recover?: boolean | undefined;
  /** Whether a request that met a lost session is sent again on the new one. @default "safe" */
  resend?: ResendPolicy | undefined;
  /**
   * With `resend: "safe"`: whether a request may run twice. Called after a probable loss, for requests
   * other than lists, reads and pings. @default none may
   */
  isSafeToResend?: ((request: JsonRpcRequest) => boolean) | undefined;
  /**
   * Decides whether an answer that is not 2xx means a loss, for servers with a dialect of their own.
   * `undefined` leaves it to the built-in rule.
   */
  classifyLoss?: ((answer: RefusedAnswer) => SessionLoss | undefined) | undefined;
  /**
   * Whether a request that met a lost session is first tried once more with the same id, for load
   * balancers that sometimes pick the wrong replica. If `resend` forbids sending the request again, a
   * ping is sent instead. @default false
   */
  retrySameId?: boolean | undefined;
  /**
   * Requests for which `matches` is true go to a second session, in `slot`. Do not save that slot, and
   * end its session with `endSession`. @default none
   */
  except?:
    | { readonly slot: SessionSlot; readonly matches: (request: JsonRpcRequest) => boolean }
    | undefined;
  readonly timeouts?:
    | {
        /** For `initialize` and for `notifications/initialized`, each, in milliseconds. @default 30000 */
        readonly initializeMs?: number | undefined;
        /** For `onStart`, in milliseconds. @default 60000 */
        readonly startMs?: number | undefined;
        /**
         * The longest silence of the server while a request waits for its answer, in milliseconds. After
         * that the request is cancelled and fails with `OUTCOME_UNKNOWN`. @default 300000
         */
        readonly answerMs?: number | undefined;
      }
    | undefined;
  /** Limits the age and the size of a kept tool list. */
  toolList?: ToolListOptions | undefined;
  /**
   * After this time, in milliseconds, a server without sessions is asked for one again.
   * @default 86400000 (1 day)
   */
  statelessMaxAgeMs?: number | undefined;
  /**
   * Prepares each new session, the first one and those after a recovery. Saving and all other requests
   * wait for it. If it fails, the handshake fails, the session ends, and the slot has none. It is not
   * called for servers that name no session.
   */
  onStart?: OnStart | undefined;
  /**
   * The save point. The fetch waits for it after the server acknowledged `notifications/initialized`,
   * before any other request goes on. The returned snapshot wins. If it throws, the handshake fails.
   */
  onSession?: OnSession | undefined;
  /** Runs around each recovery of a lost session, to measure it. */
  aroundRecovery?: AroundRecovery | undefined;
  /** Gets the events of the session, and the server's notifications. */
  onEvent?: EmitSessionEvent | undefined;
  /** The clock, in milliseconds since 1970-01-01 UTC. @default Date.now */
  now?: (() => number) | undefined;
}
