import type { Principal } from "@durable-mcp/core";
import { type ManagedSlot, within } from "@durable-mcp/core/internal";
import type { ClientOpener, McpClient } from "../base/mcp-client.ts";
import type { NotingClient } from "./call-envelope.ts";
import type { RestoreError } from "../events/client-errors.ts";
import type { ClientClosedReason, ConnectionEvent } from "../events/connection-event.ts";
import type { ConnectionSecrets } from "./connection-secrets.ts";
import type { ConnectionTelemetry, TraceOperation } from "../events/connection-telemetry.ts";
import type { ConnectionContext } from "../declare/connection-context.ts";
import type {
  ConnectionOptions,
  ConnectionTimeouts,
  WaitingOption,
} from "../declare/connection-options.ts";
import type { LossNotices } from "./loss-notice.ts";
import type { PausableLimits } from "./pausable-limits.ts";
import type { ConnectionToolSchemas, JudgedTool, ToolNamePrefix } from "../declare/tool-options.ts";
import type { CallPlace, PausingCalls, Repeated, SignIn } from "./waiting-parts.ts";

/** The name of a named session, or the id of a shared one. */
export interface KeptAs {
  readonly name?: string | undefined;
  readonly shared?: string | undefined;
}

/** The use for which a connection is opened. */
export interface ConnectionStep {
  readonly context: ConnectionContext;
  /** The name of a named session, or the id of a shared one. */
  readonly sessionName: string | undefined;
  readonly keptAs: KeptAs;
  /** The id of the agent session, if it has one. */
  readonly sessionId?: string | undefined;
  /** Whether the step goes on. Only then aborted calls are cancelled, and a process's end is a loss. */
  readonly isActive: () => boolean;
  /** Whether a server's memory ended with a run before. The next result tells the model so. */
  readonly isAfterEnd?: boolean | undefined;
  readonly now: () => number;
  readonly emit: (event: ConnectionEvent) => void;
  /** Counts an HTTP request to the connection's server. */
  readonly countRequest: (connection: string) => void;
  readonly telemetry: ConnectionTelemetry | undefined;
  readonly secrets?: ConnectionSecrets | undefined;
}

/** The process of a stdio server. One runs at a time. */
export interface LiveProcess {
  /** `undefined` before the first start, and after `end("end")`. */
  status(): ProcessStatus | undefined;
  /** Ends the process. Calls under way fail; the next use starts another. After `restart` the model is told so. */
  end(mode: "restart" | "end"): Promise<void>;
}

export interface ProcessStatus extends Pick<ConnectionState, "protocolVersion" | "server"> {
  /** Whether it runs. Otherwise the next use starts another in its place. */
  readonly isRunning: boolean;
  /** In milliseconds since 1970-01-01 UTC. */
  readonly startedAt?: number;
}

/** What is known of a connection in this process. Times are milliseconds since 1970-01-01 UTC. */
export interface ConnectionState {
  /** Whether there is a live client, or a running process. */
  readonly connected: boolean;
  /** Since when; `undefined` if it is not connected. */
  readonly connectedSince?: number | undefined;
  /** The time of the last request to the server in this process. */
  readonly lastUsedAt?: number | undefined;
  /**
   * Of a stateful connection: `session`: there is an MCP session. `lost`: it was lost or ended; the next use
   * starts another. `sessionless`, `stateless`: the server has no sessions. Of a stateless one: `remembered`:
   * what its server allows to keep is kept. Of a stdio server: `lost`: its process ended by itself.
   * `undefined`: nothing was started yet.
   */
  readonly kind?: "session" | "lost" | "sessionless" | "stateless" | "remembered" | undefined;
  readonly protocolVersion?: string | undefined;
  /** The server's own name and version. */
  readonly server?: { readonly name: string; readonly version: string } | undefined;
  /** The kept tool list: the number of tools, and the time of the listing. */
  readonly tools?: { readonly count: number; readonly listedAt: number } | undefined;
}

/** Whether a server answered just now. */
export interface ServerCheck {
  readonly alive: boolean;
  readonly reason?:
    | "no-session"
    | "not-connected"
    | "lost"
    | "authorization-required"
    | "refused"
    | "timeout"
    | "unreachable"
    | undefined;
  /** The HTTP status, when the server refused. */
  readonly status?: number | undefined;
}

/** The outcome of a restart. */
interface RestartEnd {
  readonly ended: boolean;
  readonly status?: number;
  readonly reason?: "refused" | "timeout" | "unreachable" | "undeclared" | undefined;
}

/** Looks after a connection itself. */
export interface ConnectionManagement {
  inspect(): ConnectionState;
  /** Asks the server. Connects nothing, and replaces no session. Never rejects. */
  check(timeoutMs: number): Promise<ServerCheck>;
  /** Ends the session, or the process, so that the next use starts another. Never rejects. */
  restart(timeoutMs: number): Promise<RestartEnd>;
  forgetTools(): void;
}

/** A connection that can be used: in one step, of a kept process, or several connections in turn. */
export interface LiveConnection {
  readonly name: string;
  readonly definition: {
    readonly options: ConnectionOptions<ConnectionToolSchemas | undefined, ToolNamePrefix> &
      WaitingOption & { readonly timeouts?: ConnectionTimeouts | undefined };
  };
  /** Where the server is, for messages. */
  readonly origin: string;
  /** Whether a session lasts over all steps, nothing lasts, or the server's process lasts for this step. */
  readonly session: "stateful" | "stateless" | "process";
  readonly principal: Principal | undefined;
  /** The server's process; `undefined` over HTTP. */
  readonly process?: LiveProcess | undefined;
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
  /** As in core: what the session's own fetch has listed, so that the client need not read it too. */
  readonly listedTools?: ManagedSlot["listed"] | undefined;
  /** For any one MCP client: with the connection's headers and token, and its session if it has one. */
  createFetch(): typeof globalThis.fetch;
  /**
   * The live client; connects on first use. A failure is not kept. After a new session has
   * negotiated another version or other capabilities, it is another client.
   */
  client(): Promise<NotingClient>;
  /** For the application: the live client, made by the framework's package. */
  frameworkClient(): Promise<NotingClient>;
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
   * Connects. If it is connected already, it asks the server, on its session if there is one.
   *
   * @throws the reason why the server did not answer
   */
  probe(signal: AbortSignal): Promise<void>;
  /**
   * Asks the server on the session of an earlier step. Without one it sends nothing, because the use that
   * follows has to ask the server anyway.
   *
   * @throws the reason why the server did not answer
   */
  ask(signal: AbortSignal): Promise<void>;
  /**
   * The `McpSessionError` behind an error of the client, without secrets; or the error itself, if it is the
   * server's own JSON-RPC error, an abort or a misuse of the client.
   */
  readonly restoreError: RestoreError;
  readonly secrets: ConnectionSecrets;
  /** Emits `unavailable`, once, for an error that says that the connection cannot be used. */
  readonly tell: (error: unknown) => void;
  /** Notes that another run uses the connection. An event tells whether it found a live client. */
  noteRun(): void;
  /** Notes that the connection was closed. An event tells of it, if there was a client. */
  noteClosed(reason: ClientClosedReason): void;
  /** How its session is found again. */
  readonly keptAs: KeptAs;
  /** For reports on the connection, and its restart. */
  readonly manage: ConnectionManagement;
  /** All connected and connecting clients, also of other packages; closed with the connection. */
  readonly openings: Set<Promise<Pick<McpClient, "close">>>;
  /** Waits until no handshake of the connection's session is under way. */
  settle(): Promise<void>;
  /** Ends sessions that must not outlive the step: that of `session.except`, and an unfinished one. */
  endLooseSessions(): Promise<void>;
}

/**
 * Closes a connection's clients and ends the sessions that must not outlive it, in bounded time.
 * Never rejects: a failure is the event `close-failed`.
 *
 * @param timeoutMs in milliseconds
 */
export async function closeConnection(
  connection: LiveConnection,
  timeoutMs = 5_000,
): Promise<void> {
  const { name, emit } = connection;
  const closings = [...connection.openings].map(async (opening) => {
    const client = await opening.catch(() => undefined);
    await client?.close();
  });
  const ending = async () => {
    // An aborted start is still ending its session.
    await connection.settle();
    await connection.endLooseSessions();
  };
  const closeAll = async () => {
    const outcomes = await Promise.allSettled([...closings, ending()]);
    const isFailed = outcomes.some(({ status }) => status === "rejected");
    if (isFailed) emit({ type: "close-failed", connection: name, reason: "error" });
  };
  const isDone = await within(timeoutMs, closeAll());
  if (!isDone) emit({ type: "close-failed", connection: name, reason: "timeout" });
}
