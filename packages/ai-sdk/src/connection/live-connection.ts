import type { MCPClient } from "@ai-sdk/mcp";
import type { TraceOperation } from "../events/operation-tracer.ts";
import type { McpClientConnection } from "./define-connection.ts";
import type { LossNotices } from "./loss-notice.ts";

/** A connection that can be used: in one step, from a pool, or several connections in turn. */
export interface LiveConnection {
  readonly name: string;
  readonly definition: {
    readonly options: Pick<
      McpClientConnection["options"],
      "description" | "tools" | "schemas" | "timeouts"
    >;
  };
  /** Where the server is, for messages. */
  readonly origin: string;
  /** What lasts: the session over all steps, nothing, or the server's process for this step. */
  readonly session: "stateful" | "stateless" | "process";
  /** For the handshake, `session.onStart` and listing tools, in milliseconds. */
  readonly connectMs: number;
  readonly abortSignal: AbortSignal;
  readonly trace: TraceOperation;
  /** What tool results say of a lost session; `undefined` without sessions. */
  readonly lossNotices: LossNotices | undefined;
  /** For any one MCP client: with the connection's headers and token, and its session if it has one. */
  createFetch(use?: {
    /** Whether requests carry the trace context: those of a client of this project. */
    readonly isTraced?: boolean;
  }): typeof globalThis.fetch;
  /**
   * The live client; connects on first use. A failure is not kept. After a new session has
   * negotiated another version or other capabilities, it is another client.
   */
  client(): Promise<MCPClient>;
  /**
   * Opens a client of another package, which lasts as long as this connection's own: calls `open`
   * with the connection whose `openings` the client belongs in. With a pool it outlives the run.
   */
  withKept<T>(open: (kept: LiveConnection) => Promise<T>): Promise<T>;
  /**
   * Runs an attempt. After a loss that the client itself cannot see past, runs it once more, if the
   * tool may run twice; a listing, which has no tool, always may. A session fetch recovers by itself.
   */
  withRecovery<T>(
    tool: { readonly name: string; readonly annotations?: unknown } | undefined,
    attempt: () => Promise<T>,
  ): Promise<T>;
  /**
   * Connects. When it is connected already, asks the server: for its session, if there is one.
   *
   * @throws why it did not answer
   */
  probe(signal: AbortSignal): Promise<void>;
  /** The `McpSessionError` behind an error of the client, or the error itself. */
  readonly restoreError: (error: unknown) => unknown;
  /** Has headers and token resolved anew, for another run with the same clients. */
  renew(): void;
  /** All clients that are connected or on their way, those of other packages too; closed with it. */
  readonly openings: Set<Promise<Pick<MCPClient, "close">>>;
  /** Waits until no handshake of the connection's session is under way. */
  settle(): Promise<void>;
  /** Ends what must not outlive the step: the session of `session.except`, and an unfinished one. */
  endLooseSessions(): Promise<void>;
}
