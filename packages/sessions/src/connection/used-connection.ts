import type { Principal } from "@durable-mcp/core";
import type { ClientOpener } from "../base/mcp-client.ts";
import type { NotingClient } from "./call-envelope.ts";
import type { RestoreError } from "../events/client-errors.ts";
import type { ConnectionEvent } from "../events/connection-event.ts";
import type { ConnectionSecrets } from "./connection-secrets.ts";
import type { TraceOperation } from "../events/connection-telemetry.ts";
import type {
  ConnectionOptions,
  ConnectionTimeouts,
  WaitingOption,
} from "../declare/connection-options.ts";
import type { LossNotices } from "./loss-notice.ts";
import type { PausableLimits } from "./pausable-limits.ts";
import type { ConnectionToolSchemas, JudgedTool, ToolNamePrefix } from "../declare/tool-options.ts";
import type { CallPlace, PausingCalls, Repeated, SignIn } from "./waiting-parts.ts";

/** A connection for those who list its tools and call them. */
export interface UsedConnection {
  readonly name: string;
  readonly definition: {
    readonly options: ConnectionOptions<ConnectionToolSchemas | undefined, ToolNamePrefix> &
      WaitingOption & { readonly timeouts?: ConnectionTimeouts | undefined };
  };
  /** Where the server is, for messages. */
  readonly origin: string;
  readonly principal: Principal | undefined;
  /** The id of the agent session in which it is used, if it has one. */
  readonly sessionId: string | undefined;
  readonly abortSignal: AbortSignal;
  readonly trace: TraceOperation;
  /**
   * Runs a handshake or a listing in the time that the connection allows for it. Time in which a store
   * saves the session does not count.
   *
   * @throws the signal's reason; a `TimeoutError` when the time is up
   */
  inConnectTime<T>(signal: AbortSignal, work: (bounded: AbortSignal) => PromiseLike<T>): Promise<T>;
  /** Starts the limit of a call. It stands still while a person is asked. */
  readonly startCallLimit: PausableLimits["start"];
  /** For events of those who use the connection. */
  readonly emit: (event: ConnectionEvent) => void;
  /** The notices of lost sessions for tool results; `undefined` without sessions. */
  readonly lossNotices: LossNotices | undefined;
  /** Set if the connection's calls may wait (`waiting: true`). */
  readonly pausing?: PausingCalls | undefined;
  /** Set if the connection's user signs in (`auth.authorizationFor`), where it has its own session or none. */
  readonly signIn?: SignIn | undefined;
  /** Has a model's call join one that it repeats, and gives the placeholder, or its answer. Set while such calls wait. */
  repeatOf?:
    | ((tool: string, input: unknown, use: CallPlace) => Promise<Repeated | undefined>)
    | undefined;
  /** Whether its clients hear what is known of a call. Others send one that has its answer. */
  readonly takesNotes: boolean;
  /**
   * A tool as the server listed it last. Set if the connection has a slot, and an `approval` that decides on each
   * call: a session that replaces a lost one may have other tools.
   */
  readonly toolNow?: ((tool: JudgedTool) => JudgedTool) | undefined;
  /**
   * The live client; connects on first use. A failure is not kept. After a new session has
   * negotiated another version or other capabilities, it is another client.
   */
  client(): NotingClient | Promise<NotingClient>;
  /** Makes of a result what the tools of the framework's clients make of it. */
  readonly toOutput?: ClientOpener["toOutput"];
  /**
   * Runs an attempt. After a loss that the client itself cannot recover from, runs it once more, if the
   * tool may run twice. A listing, which has no tool, always may. A session fetch recovers by itself.
   */
  withRecovery<T>(
    tool: { readonly name: string; readonly annotations?: unknown } | undefined,
    attempt: () => Promise<T>,
  ): Promise<T>;
  /**
   * The `McpSessionError` behind an error of the client, without secrets; or the error itself, if it is the
   * server's own JSON-RPC error, an abort or a misuse of the client.
   */
  readonly restoreError: RestoreError;
  readonly secrets: ConnectionSecrets;
  /** Emits `unavailable`, once, for an error that says that the connection cannot be used. */
  readonly tell: (error: unknown) => void;
}
