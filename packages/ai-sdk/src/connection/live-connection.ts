import type { MCPClient } from "@ai-sdk/mcp";
import type { TraceOperation } from "../events/operation-tracer.ts";
import type { McpClientConnection } from "./define-connection.ts";
import type { LossNotices } from "./loss-notice.ts";

/** A connection that can be used: of one step, of a pool, or of several in turn. */
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
  /** For the handshake, what prepares the session, and listing tools, in milliseconds. */
  readonly connectMs: number;
  readonly abortSignal: AbortSignal;
  /** For any one MCP client: with the connection's headers and token, and its session if it has one. */
  createFetch(use?: {
    /** Whether requests carry the trace context: those of a client of this project. */
    readonly isTraced?: boolean;
  }): typeof globalThis.fetch;
  /**
   * The live client; connects on first use. A failure is not kept. Another one when the session
   * negotiated something else than the one before was told.
   */
  client(): Promise<MCPClient>;
  /**
   * Connects; where it is connected, asks the server: for its session, if there is one.
   *
   * @throws why it did not answer
   */
  probe(signal: AbortSignal): Promise<void>;
  /** All clients that are connected or on their way, those of other packages too; closed with it. */
  readonly openings: Set<Promise<Pick<MCPClient, "close">>>;
  /**
   * For a client of another package that is to be kept with this one's own: calls `open` with the
   * connection that outlives the run, in whose `openings` it belongs. Others are their own.
   */
  withKept?<T>(open: (kept: LiveConnection) => Promise<T>): Promise<T>;
  /** Has headers and token resolved anew, for another step with the same client. */
  renew?(): void;
  /** Waits until no handshake of the connection's session is under way. */
  settle(): Promise<void>;
  /** Ends what is not to outlive the step: the session of `session.except`, and any unfinished one. */
  endLooseSessions(): Promise<void>;
  /** What tool results say of a session that was lost; `undefined` without sessions. */
  readonly lossNotices: LossNotices | undefined;
  /**
   * Runs an attempt, and once more after a loss that the client itself cannot see past, if the tool
   * (none: a listing) may run twice. A session fetch does that on its own.
   */
  withRecovery?<T>(
    tool: { readonly name: string; readonly annotations?: unknown } | undefined,
    attempt: () => Promise<T>,
  ): Promise<T>;
  /** The `McpSessionError` behind an error of the client, or the error itself. */
  readonly restoreError: (error: unknown) => unknown;
  readonly trace: TraceOperation;
}
