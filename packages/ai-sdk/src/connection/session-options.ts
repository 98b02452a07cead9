import type { MCPClient } from "@ai-sdk/mcp";
import type { RefusedAnswer, ResendPolicy, SessionLoss, ToolListOptions } from "@durable-mcp/core";
import type { Awaitable, ConnectionContext } from "./connection-options.ts";

/** The argument of `session.onStart`. */
export interface ConnectionStart extends ConnectionContext {
  /** `"started"`: the first session. `"recovered"`: a session in the place of a lost one. */
  readonly reason: "started" | "recovered";
  /** Talks to the new session; closed when the hook is over. */
  readonly client: MCPClient;
  /** Aborts when the hook takes too long, and when the step's registry is disposed of. */
  readonly abortSignal: AbortSignal;
}

/** How a session, or a stdio server's process, is prepared, replaced, and reported as lost. */
export interface SessionReplacementOptions {
  /**
   * Which requests are sent again when the server has lost the session. `"safe"`: those that the
   * server certainly refused unprocessed. Of others only lists, reads, pings, `safeTools` and, with
   * `trustAnnotations`, tools that the server marks as read-only or idempotent. `"always"`: all.
   * `"never"`: none. A request that is not sent again fails with `SESSION_LOST` or `OUTCOME_UNKNOWN`.
   * @default "safe"
   */
  readonly resend?: ResendPolicy | undefined;
  /** Tools, by the server's names, that may run twice. @default none */
  readonly safeTools?: readonly string[] | undefined;
  /** Whether to trust the server's annotations on which tools may run twice. @default false */
  readonly trustAnnotations?: boolean | undefined;
  /**
   * Whether a lost session is replaced. Otherwise the loss is reported, for callers that open the
   * next session elsewhere. @default true
   */
  readonly recover?: boolean | undefined;
  /**
   * Prepares each new session, the first one and each that replaces a lost one: selects a workspace,
   * logs in. Runs before the session is saved and before any waiting call goes on. When it fails,
   * the session is ended and the calls fail with `CONNECTION_UNAVAILABLE`. The next call tries again.
   */
  readonly onStart?: ((start: ConnectionStart) => Awaitable<void>) | undefined;
  /**
   * The note to the model in the first tool result after a lost session was replaced; `false` for
   * none. @default a sentence that says that the server's earlier state is lost
   */
  readonly lossNotice?: string | false | undefined;
}

/** How a stateful connection keeps its session. */
export interface StatefulSessionOptions extends SessionReplacementOptions {
  readonly mode: "stateful";
  /** Limits the age and the size of the tool list in the state. */
  readonly toolList?: ToolListOptions | undefined;
  /**
   * Judges an answer other than 2xx, for servers with a dialect of their own: whether its loss of
   * the session is `"definite"`, `"probable"` or `"none"`. `undefined` leaves that to the built-in rule.
   */
  readonly classifyLoss?: ((answer: RefusedAnswer) => SessionLoss | undefined) | undefined;
  /**
   * Whether a request that met a lost session is first tried once more with the same id, for load
   * balancers that sometimes pick the wrong replica. @default false
   */
  readonly retrySameId?: boolean | undefined;
  /**
   * Tools, by the server's names, whose calls go to a second session, which lasts as long as the
   * step's registry and is not saved. @default none
   */
  readonly except?: readonly string[] | undefined;
  /**
   * After this time, in milliseconds, a server without sessions is asked for one again.
   * @default 86400000 (1 day)
   */
  readonly statelessMaxAgeMs?: number | undefined;
}
