import type { ConnectionEvent } from "./connection-event.ts";

/** An operation of a connection that takes time. It holds no id, token, principal or argument. */
export interface ConnectionOperation {
  /**
   * - `connect`: the handshake of a connection's first use. For a resumed session the state answers it.
   * - `list`: listing the tools.
   * - `call`: a tool call, with all its waiting.
   * - `recover`: replacing a lost session or a dead process.
   */
  readonly operation: "connect" | "list" | "call" | "recover";
  /** The connection's name. */
  readonly connection: string;
  /** `"stdio"` for a program on this machine. */
  readonly transport: "http" | "stdio";
  /** The server's origin, such as `https://shop.example`; `undefined` over stdio. */
  readonly origin: string | undefined;
  /** The server's name of a `call`'s tool. */
  readonly tool?: string | undefined;
}

/** Details of an operation that become known while it is under way. */
export interface ConnectionOperationDetails {
  /** The negotiated MCP revision, such as `2025-11-25`. */
  readonly protocolVersion?: string | undefined;
  /** Whether the tool's result has `isError`. */
  readonly isToolError?: boolean | undefined;
  /** For a failed recovery: the HTTP status with which the server refused a new session. */
  readonly refusedStatus?: number | undefined;
}

export type NoteDetails = (details: ConnectionOperationDetails) => void;

/** Measures a provider's connections. `openTelemetry` makes one. */
export interface ConnectionTelemetry {
  /**
   * Runs an operation, once and at once, and passes on its outcome. Operations that start in the same
   * asynchronous context are parts of it.
   *
   * @param run takes a function that gets details of the operation, any number of times
   */
  trace<T>(operation: ConnectionOperation, run: (note: NoteDetails) => Promise<T>): Promise<T>;
  /** Gets the events of connections, in the asynchronous context of the operation they belong to. */
  observe?(event: ConnectionEvent): void;
  /** Fields for `params._meta` of each request to a server. @default none */
  traceContext?(): Readonly<Record<string, string>> | undefined;
}
