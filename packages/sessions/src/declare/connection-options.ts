import type { RefusedAnswer, SessionLoss, ToolListOptions } from "@durable-mcp/core";
import type { WaitingLimits } from "@durable-mcp/core/waiting";
import type {
  ClientCapabilities,
  ElicitationRequest,
  ElicitResult,
  LoginProvider,
  McpClient,
} from "../base/mcp-client.ts";
import type { Awaitable, ConnectionContext } from "./connection-context.ts";
import type { ConnectionAuth, ConnectionHeaders } from "./credential-options.ts";
import type {
  ConnectionToolSchemas,
  ToolCallOptions,
  ToolNamePrefix,
  ToolOptions,
} from "./tool-options.ts";

/** `clientInfo` of the specification. */
export interface ConnectionClientInfo {
  readonly name: string;
  readonly version: string;
}

/** The options of every connection, whatever its transport. */
export interface ConnectionOptions<
  SCHEMAS extends ConnectionToolSchemas | undefined,
  PREFIX extends ToolNamePrefix,
>
  extends ToolCallOptions, ToolOptions<SCHEMAS, PREFIX> {
  /** What to use the connection for, for people and in prompts. */
  readonly description: string;
  /**
   * Whether a step needs this connection. If it is down, nothing begins: `run`, `open`, an agent's call and
   * `tools()` reject with `CONNECTION_UNAVAILABLE`, or with the code that says why. A server whose session
   * and tool list are kept is asked with a ping, for at most `timeouts.connectMs`, so each step sends one
   * request more. @default false
   */
  readonly required?: boolean | undefined;
  /**
   * Client capabilities to declare. Over HTTP, sampling, elicitation and roots need an open stream, and
   * get it.
   */
  readonly capabilities?: ClientCapabilities | undefined;
  /**
   * The client's name and version, which the server reads in `initialize`. A kept session goes on under
   * another name without a new handshake. @default { name: "durable-mcp", version: "1.0.0" }
   */
  readonly client?: ConnectionClientInfo | undefined;
  /** Answers the server's elicitation requests; declares the capability. */
  readonly onElicitation?:
    | ((request: ElicitationRequest, context: ConnectionContext) => Awaitable<ElicitResult>)
    | undefined;
}

/** The time limits of every connection. */
export interface ConnectionTimeouts {
  /**
   * For each tool call, in milliseconds, whatever the server sends meanwhile. After that the call is
   * cancelled and fails with `OUTCOME_UNKNOWN`. It stands still while `onElicitation` answers a question of the
   * connection's server. `false` lifts the limit, for tools that work for longer. @default 300000 (5 minutes)
   */
  readonly callMs?: number | false | undefined;
  /** For `session.onStart`, in milliseconds. @default 60000 */
  readonly startMs?: number | undefined;
}

/** The argument of `session.onStart`. */
export interface ConnectionStart<CLIENT = McpClient> extends ConnectionContext {
  /** `"started"`: the first session. `"recovered"`: a session in the place of a lost one. */
  readonly reason: "started" | "recovered";
  /** Talks to the new session; closed when the hook is over. */
  readonly client: CLIENT;
  /** Aborts when the hook takes too long, and when the step's run is disposed of. */
  readonly abortSignal: AbortSignal;
}

/** A tool, and what its server says of it. Only trust the annotations of a server that you know. */
interface ResentTool {
  /** The server's name of the tool. */
  readonly name: string;
  readonly annotations: Readonly<Record<string, unknown>> | undefined;
}

/** Which requests are sent again after a loss. */
export type ConnectionResend =
  | "safe"
  | "always"
  | "never"
  | readonly string[]
  | ((tool: ResentTool) => boolean);

/** How a session, or a stdio server's process, is prepared, replaced, and reported as lost. */
export interface SessionReplacementOptions<CLIENT = McpClient> {
  /**
   * Which requests are sent again when the server has lost the session. `"safe"`: those that the
   * server certainly refused unprocessed, and lists, reads and pings. A list of tools, by the server's
   * names, or a function: as `"safe"`, and calls of these tools, which may run twice. `"always"`: all.
   * `"never"`: none. A request that is not sent again fails with `SESSION_LOST` or `OUTCOME_UNKNOWN`.
   * @default "safe"
   */
  readonly resend?: ConnectionResend | undefined;
  /**
   * Prepares each new session, the first one and each that replaces a lost one: selects a workspace,
   * logs in. Runs before the session is saved and before any waiting call goes on. When it fails,
   * the session is ended and the calls fail with `CONNECTION_UNAVAILABLE`. The next call tries again.
   */
  readonly onStart?: ((start: ConnectionStart<CLIENT>) => Awaitable<void>) | undefined;
  /**
   * The note to the model in the first tool result after a lost session was replaced; `false` for
   * none. @default a sentence that says that the server's earlier state is lost
   */
  readonly lossNotice?: string | false | undefined;
  /**
   * The longest age of a session, or of a stdio server's process, in milliseconds; 1000 at least. An older
   * session is ended when a step begins with it, and an older process before its next use, never during a
   * call. Another takes its place: `onStart` prepares it, the model is told, and the event `discarded` has
   * the reason `"age"`. @default no limit
   */
  readonly maxAgeMs?: number | undefined;
  /**
   * Tools, by the server's names, whose calls go to a second session, or a second process, which begins with the
   * first such call and lasts as long as the step's run. It has no name, and is not saved or kept in a pool.
   * (A second definition of the server would connect, and list, also in steps without such a call.) @default none
   */
  readonly except?: readonly string[] | undefined;
}

/** How a stateful connection keeps its session. */
export interface StatefulSessionOptions<
  CLIENT = McpClient,
> extends SessionReplacementOptions<CLIENT> {
  /** Keeps an MCP session. Required. */
  readonly mode: "stateful";
  /** One session under this id (1 to 256 characters) for all agent sessions of a principal. Needs a store. */
  readonly shared?: string | undefined;
  /** Limits the age and the size of the tool list in the state. */
  readonly toolList?: ToolListOptions | undefined;
  /**
   * Decides whether an answer that is not 2xx means a loss, for servers with a dialect of their own.
   * `undefined` leaves it to the built-in rule.
   */
  readonly classifyLoss?: ((answer: RefusedAnswer) => SessionLoss | undefined) | undefined;
  /**
   * `"replace"`: a lost session is replaced. `"retry"`: the request is first tried once more with the same id,
   * for load balancers that sometimes pick the wrong replica. `"report"`: the loss is reported, for callers
   * that open the next session elsewhere. @default "replace"
   */
  readonly onLoss?: "replace" | "retry" | "report" | undefined;
  /**
   * Whether a step begins another session if the kept one was made without a capability that the
   * connection declares now, such as after a deployment that adds `onElicitation`. The kept one is ended,
   * and the model is told. Otherwise it goes on without, with the event `capabilities-missing`. Clients on
   * `run.fetch` then have to declare the same capabilities. @default false
   */
  readonly restartOnNewCapabilities?: boolean | undefined;
}

export interface WaitingOption {
  /**
   * Whether calls may wait beyond the step, and for what: for a person whom the server asks, for a task that it makes
   * of the call, for an answer on a stream that can be resumed. The call waits in the store, and its tool gives a
   * placeholder. Any process answers, and looks, later. It needs durable sessions, or state with a `claim`. With
   * `onElicitation` leave `person` out of `for`.
   * @default no call waits; `onElicitation` answers within the step
   */
  readonly waiting?: true | WaitingLimits | undefined;
}

/** The options of a connection over Streamable HTTP. */
export interface McpClientConnectionOptions<
  SCHEMAS extends ConnectionToolSchemas | undefined = ConnectionToolSchemas | undefined,
  PREFIX extends ToolNamePrefix = ToolNamePrefix,
  CLIENT = McpClient,
  LOGIN = LoginProvider,
>
  extends ConnectionOptions<SCHEMAS, PREFIX>, WaitingOption {
  /** The server's Streamable HTTP endpoint. */
  readonly url: string | URL;
  /**
   * Whether one MCP session lasts over all steps of an agent session.
   * @default "stateless"
   */
  readonly session?: "stateless" | "stateful" | StatefulSessionOptions<CLIENT> | undefined;
  /**
   * Whether steps keep the server's discovery, its lists, and the handshake of a server without sessions. Then
   * a later step's call is its only request. `"server"`: as long as the server allows. `{ pinMs }`: for that
   * time, in milliseconds, whatever it allows. Kept for each principal, in the state or the store.
   * @default only what a stateful connection keeps
   */
  readonly memory?: "server" | { readonly pinMs: number } | undefined;
  /**
   * A token: `{ getToken }`, or a function that returns a token, its text, or `{ getToken }`. It is called
   * once a step, and again after a 401, or a 403 for lack of a scope. Not together with `authProvider`.
   */
  readonly auth?: ConnectionAuth | undefined;
  /**
   * OAuth, which `@ai-sdk/mcp` carries out. A function, when each principal has tokens of its own,
   * is called once a step.
   */
  readonly authProvider?: LOGIN | ((context: ConnectionContext) => Awaitable<LOGIN>) | undefined;
  /** Headers for every request to the server, or a function of them. Functions are called once a step. */
  readonly headers?:
    | ConnectionHeaders
    | ((context: ConnectionContext) => Awaitable<ConnectionHeaders>)
    | undefined;
  readonly timeouts?: ClientConnectionTimeouts | undefined;
  /**
   * Sends the requests. With a fetch of your own you also vouch for the hosts that OAuth requests go
   * to: use one that checks them. @default globalThis.fetch, with other origins refused
   */
  readonly fetch?: typeof globalThis.fetch | undefined;
}

export interface ClientConnectionTimeouts extends ConnectionTimeouts {
  /**
   * For the handshake and for listing tools, in milliseconds. A server that does not answer delays
   * `tools()`, for all connections, by that time. @default 10000
   */
  readonly connectMs?: number | undefined;
  /**
   * The longest time without a word from a stateful connection's server while a call waits, in milliseconds; on a
   * resumed stream without a message. After that the call fails with `OUTCOME_UNKNOWN`. While a person is asked it
   * stands still. @default 300000 (5 minutes)
   */
  readonly answerMs?: number | undefined;
}
