import type { WaitingEvent } from "@durable-mcp/core/waiting";
import type { McpSessionError, SessionEvent, UnavailableReason } from "@durable-mcp/core";

/**
 * An operation of a connection that takes time:
 *
 * - `connect`: the handshake of a connection's first use. For a resumed session the state answers it.
 * - `list`: listing the tools.
 * - `call`: a tool call, with all its waiting.
 * - `recover`: replacing a lost session or a dead process.
 * - `ready`: waiting until the server answers (`run.ready`).
 * - `answer`: answering the questions of a call that waits for a person, in any process.
 * - `look`: asking the server how a waiting call is: its task, or its stream.
 */
export type OperationName = "connect" | "list" | "call" | "recover" | "ready" | "answer" | "look";

/** `tool-error`: the tool has failed, and said so. `waiting`: the call waits beyond its step. */
export type OperationOutcome = "done" | "tool-error" | "waiting" | "aborted" | "failed";

/** An operation has started, or has ended. */
export type OperationEvent = {
  readonly type: "operation";
  readonly operation: OperationName;
  /** The server's name of the tool of a `call`, an `answer` or a `look`. */
  readonly tool?: string | undefined;
  /** The same at the start and at the end. No other operation of this process has it. */
  readonly number: number;
} & (
  | { readonly action: "started" }
  | {
      readonly action: "ended";
      readonly durationMs: number;
      readonly outcome: OperationOutcome;
      /** The code of the `McpSessionError`, if it failed with one. */
      readonly code?: string | undefined;
    }
);

/**
 * An event of a connection. Beside those of `SessionEvent`:
 *
 * - `lost` with `exitCode` and `signal` instead of `status`: a stdio server's process ended, and its
 *   memory is gone.
 * - `discarded` with reason `"invalid"`: the state, or the store's record, did not parse. The step
 *   starts a new session in its place. With reason `"age"`: the session, or the stdio server's process, was
 *   older than `session.maxAgeMs`. It was ended, and another takes its place.
 * - `unavailable`: the server could not be reached, or it refused, or the connection to it broke, at any
 *   request. After a listing its tools are missing. `reason` and the error's message say why. The error has
 *   no `cause`; only the thrown error has one.
 * - `authorization-required`: the user has to sign in at `startUrl` before the connection can be used, or before a
 *   request can be carried out. It comes in place of `unavailable` for errors with the code
 *   `AUTHORIZATION_REQUIRED`. `scopes` are those to grant, as far as they are known.
 * - `tools-unmatched`: the filter `option` names `tools` that the server does not have. `activeTools` is of a
 *   durable agent.
 * - `tools-need-tasks`: the server only runs `tools` as tasks, and the connection's calls may not wait for tasks, so
 *   they are not offered.
 * - `tools-collide`: tools of several connections have one name for the model, `toolName`, and none of them
 *   is offered. `tools` has their connections and the servers' names of them.
 * - `capabilities-missing`: the kept session was made without `capabilities` that its connection declares
 *   now. `isRestarted`: another session has taken its place (`session.restartOnNewCapabilities`).
 * - `sse-fallback`: the server only knows the old HTTP+SSE transport, which keeps no session.
 * - `client`: `hit`: a run found a live client, in the pool, in the run around it, or in a run beside it with
 *   the same named session. `miss`: it found none. Once for each run and connection. `opened`: a new client.
 *   `closed`: with the reason `run-over` without a pool; else `idle` for `keepAliveMs`, more than `max`,
 *   `stale` (it was ended, or is declared anew), `unhealthy` (the server did not answer) or `shutdown`.
 * - `close-failed`: at the end of a run a client could not be closed; or the session of an isolated
 *   connection could not be ended on its server (`status` is the server's, if it answered). `timeout`: not in
 *   time. `not-committed`: `onClose` of a run failed after the run itself had failed, or had given back a stream.
 * - `ended`: the implicit session of `autoSession` was idle, so what the server kept for it was ended.
 * - `ended-by-operator`: an operator (`by`, as `admin.end` got it) has ended a session; `ended` as of its result.
 * - `cannot-wait`: a call takes longer than its step waits (`waiting.afterMs`), and its server gives no means to leave
 *   it. `no-task`: of revision 2026-07-28, it made no task of the call. `no-event-id`: its stream cannot be resumed.
 *   The call goes on to its time limit, and ends with its process. `unheard`: it ended as if its server had asked a person
 *   on a stream that no step opens.
 * - `cannot-ask`: the server asks a person something, and the connection has neither `waiting: true` nor
 *   `onElicitation`. The call fails, and was not carried out.
 * - `era-unknown`: `server/discover` met an outage twice, so the step goes on with a revision with sessions. Nothing is
 *   kept of that: the next step asks again.
 * - `session-unused`: the server gives session ids, and the connection, whose definition has no `session`, keeps
 *   none. Once a process and connection.
 * - `used-after-run`: a tool was called after its run was over.
 * - `waiting-call`: the state of a call that waits has changed.
 * - `answer-unsure`: a person's answer to a call that its server keeps was perhaps lost on its way (`unsure`), or has
 *   arrived when it was sent again (`delivered`). Its question is not listed again.
 * - `line-dropped`: a stdio server printed a line on stdout that is no message, is too long (64 MiB) or
 *   too complex (1,000 levels, two million values), or asks too much at once. The event comes once for each
 *   reason and process.
 * - `operation`: an operation of the connection has `started`, or has `ended` after `durationMs`, with its `outcome`.
 *   `number` is the same in both, and tells it from the other operations of this process. `code` is the code of an
 *   `McpSessionError`, if it failed with one.
 * - `step-ended`: a step that used the connection is over, after `durationMs`. It sent `requests` HTTP requests to
 *   the connection's server. `outcome` is there if its function or its stream failed, such as with its model.
 *
 * And the events between durable sessions and their store:
 *
 * - `adopted`: another process saved a session first. The step uses that session, and its own was ended.
 * - `conflict`: at the end of the step the store held something newer than the step had used, so
 *   the step wrote nothing. Its results stay valid. `stored` says what the store holds: the
 *   `newer-session` of another process, or `nothing`, because the session was ended meanwhile.
 * - `not-ended`: the server did not end an MCP session that has no user any more, or an idle named one.
 * - `store-failed`: the store failed at the end of a step, while a session was marked as used, or for so long that
 *   what became of a waiting call is not kept. The error has no `cause`.
 *
 * No event holds a session id, a token or a principal.
 */
export type ConnectionEvent = {
  readonly connection: string;
  /** The name of a named session. */
  readonly name?: string | undefined;
  /** The id of a shared session. */
  readonly shared?: string | undefined;
} & (
  | SessionEvent
  | {
      readonly type: "lost";
      readonly method?: undefined;
      readonly status?: undefined;
      readonly exitCode: number | null;
      readonly signal: string | null;
    }
  | { readonly type: "discarded"; readonly reason: "invalid" | "age" }
  | {
      readonly type: "unavailable";
      readonly reason?: UnavailableReason | undefined;
      readonly error: McpSessionError;
    }
  | {
      readonly type: "authorization-required";
      readonly scopes: readonly string[];
      readonly startUrl?: string | undefined;
      readonly error: McpSessionError;
    }
  | {
      readonly type: "tools-unmatched";
      readonly option: "tools.allow" | "tools.block" | "schemas" | "activeTools";
      readonly tools: readonly string[];
    }
  | { readonly type: "tools-need-tasks"; readonly tools: readonly string[] }
  | {
      readonly type: "tools-collide";
      readonly toolName: string;
      readonly tools: readonly { readonly connection: string; readonly tool: string }[];
    }
  | {
      readonly type: "capabilities-missing";
      readonly capabilities: readonly string[];
      readonly isRestarted: boolean;
    }
  | { readonly type: "sse-fallback" }
  | { readonly type: "client"; readonly action: "hit" | "miss" | "opened" }
  | {
      readonly type: "client";
      readonly action: "closed";
      readonly reason: "run-over" | "idle" | "max" | "stale" | "unhealthy" | "shutdown";
    }
  | {
      readonly type: "close-failed";
      readonly reason: "error" | "not-committed" | "refused" | "timeout" | "unreachable";
      readonly status?: number;
    }
  | { readonly type: "ended"; readonly reason: "idle" }
  | { readonly type: "ended-by-operator"; readonly by: string; readonly ended: boolean }
  | WaitingEvent
  | { readonly type: "cannot-ask" | "era-unknown" | "session-unused" | "used-after-run" }
  | {
      readonly type: "line-dropped";
      readonly reason: "not-a-message" | "too-long" | "too-complex" | "too-many";
    }
  | OperationEvent
  | {
      readonly type: "step-ended";
      readonly requests: number;
      readonly durationMs: number;
      readonly outcome?: "failed";
    }
  | { readonly type: "adopted" }
  | { readonly type: "conflict"; readonly stored: "newer-session" | "nothing" }
  | {
      readonly type: "not-ended";
      readonly status?: number;
      readonly reason: "refused" | "timeout" | "unreachable";
    }
  | {
      readonly type: "store-failed";
      readonly operation: "close" | "touch" | "keep";
      /** With `keep`: of the call. */
      readonly tool?: string;
      readonly error: McpSessionError;
    }
);

/** Why a client was closed. */
export type ClientClosedReason = Extract<
  ConnectionEvent,
  { type: "client"; action: "closed" }
>["reason"];
