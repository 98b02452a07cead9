import type { AroundRecovery } from "./handshake/around-recovery.ts";
import type { JsonRpcRequest } from "./wire/json-rpc.ts";
import type { RefusedAnswer, SessionLoss } from "./session/lost-session.ts";
import type { ResendPolicy } from "./exchange/resend-policy.ts";
import type { EmitSessionEvent } from "./session/session-event.ts";
import type { SessionSlot } from "./session/session-slot.ts";
import type { OnSession, OnStart } from "./handshake/session-hooks.ts";
import type { ToolListOptions } from "./tools/tool-list.ts";

export interface SessionFetchOptions {
  /** The server's URL. Only requests to exactly this URL take part in the session. */
  url: string | URL;
  /** The holder of the session, from `createSessionSlot`. */
  slot: SessionSlot;
  /**
   * The fetch that requests go out with. Passing one also vouches for requests to other origins
   * (see `allowOtherOrigins`). @default globalThis.fetch
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
   * Whether an aborted request is cancelled on the client's behalf (`notifications/cancelled`,
   * best effort). A function is asked at the time. @default false
   */
  cancelOnAbort?: boolean | (() => boolean) | undefined;
  /**
   * Whether a lost session is replaced. Without it a loss is reported (`SESSION_LOST`, or
   * `OUTCOME_UNKNOWN` when it is only probable), for callers that open the next one elsewhere.
   * @default true
   */
  recover?: boolean | undefined;
  /** Whether a request that met a lost session is sent again on the new one. @default "safe" */
  resend?: ResendPolicy | undefined;
  /**
   * With `resend: "safe"`: whether a request may run twice, asked for requests other than lists,
   * reads and pings when it is not certain that the server refused it unprocessed. @default none may
   */
  isSafeToResend?: ((request: JsonRpcRequest) => boolean) | undefined;
  /**
   * What an answer that is not 2xx says of the session it was sent on, for servers with a dialect of
   * their own. `undefined` leaves it to the built-in rule.
   */
  classifyLoss?: ((answer: RefusedAnswer) => SessionLoss | undefined) | undefined;
  /**
   * Whether a request that met a lost session is first tried once more with the same id, for load
   * balancers that sometimes hit the wrong replica. What `resend` would not send again is not sent
   * again here either; a ping then tells whether the session is lost. @default false
   */
  retrySameId?: boolean | undefined;
  /**
   * Requests that go to a second session, in the given slot, which the caller does not save and
   * ends with `endSession`. @default none
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
         * How long the server may be silent while a request waits for its answer, in milliseconds.
         * Then the request is cancelled and fails with `OUTCOME_UNKNOWN`. @default 300000
         */
        readonly answerMs?: number | undefined;
      }
    | undefined;
  /** How long and how large a kept tool list may be. */
  toolList?: ToolListOptions | undefined;
  /**
   * How long the verdict that a server has no sessions holds, in milliseconds.
   * @default 86400000 (1 day)
   */
  statelessMaxAgeMs?: number | undefined;
  /**
   * Prepares each new session, the first and those in a lost one's place, before it is saved and
   * before any other request goes on. When it fails, so does the handshake: the session is ended,
   * and the slot holds none. Not called for servers that name no session.
   */
  onStart?: OnStart | undefined;
  /**
   * The save point: awaited after the server acknowledged `notifications/initialized` and before
   * any other request goes on. The snapshot it returns wins. What it throws fails the handshake.
   */
  onSession?: OnSession | undefined;
  /** Runs around each recovery of a lost session, to measure it. */
  aroundRecovery?: AroundRecovery | undefined;
  /** Told what happens to the session, and of the server's notifications. */
  onEvent?: EmitSessionEvent | undefined;
  /** The clock, in milliseconds since 1970-01-01 UTC. @default Date.now */
  now?: (() => number) | undefined;
}
