import { within } from "@durable-mcp/core/internal";
import type { McpClient } from "../base/mcp-client.ts";
import type { NotingClient } from "./call-envelope.ts";
import type { ClientClosedReason, ConnectionEvent } from "../events/connection-event.ts";
import type { ConnectionSecrets } from "./connection-secrets.ts";
import type { ConnectionTelemetry } from "../events/connection-telemetry.ts";
import type { ConnectionContext } from "../declare/connection-context.ts";
import type { UsedConnection } from "./used-connection.ts";

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

/** A connection as its run has it: in one step, of a kept process, or several connections in turn. */
export interface LiveConnection extends UsedConnection {
  /** Whether a session lasts over all steps, nothing lasts, or the server's process lasts for this step. */
  readonly session: "stateful" | "stateless" | "process";
  /** The server's process; `undefined` over HTTP. */
  readonly process?: LiveProcess | undefined;
  /** For any one MCP client: with the connection's headers and token, and its session if it has one. */
  createFetch(): typeof globalThis.fetch;
  /** For the application: the live client, made by the framework's package. */
  frameworkClient(): Promise<NotingClient>;
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
