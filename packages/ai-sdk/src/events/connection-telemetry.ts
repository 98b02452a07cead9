import type { ConnectionEvent } from "./connection-event.ts";

/** Something a connection does that takes time. It holds no id, token, principal or argument. */
export interface ConnectionOperation {
  /**
   * - `connect`: the handshake of a connection's first use, answered from the state when its
   *   session is resumed.
   * - `list`: listing the tools.
   * - `call`: a tool call, with all that it waits for.
   * - `recover`: putting a new session, or process, in the place of a lost one.
   */
  readonly operation: "connect" | "list" | "call" | "recover";
  /** The connection's name. */
  readonly connection: string;
  /** `"stdio"` for a program on this machine. */
  readonly transport: "http" | "stdio";
  /** Where the server is, such as `https://shop.example`; `undefined` over stdio. */
  readonly origin: string | undefined;
  /** The name of the tool of a `call`, as the server knows it. */
  readonly tool?: string | undefined;
}

/** Details of an operation that become known while it is under way. */
export interface ConnectionOperationDetails {
  /** The MCP revision that is spoken, such as `2025-11-25`. */
  readonly protocolVersion?: string | undefined;
  /** Whether the tool's result says that the tool failed. */
  readonly isToolError?: boolean | undefined;
  /** The HTTP status with which the server refused, where that is no error of the operation. */
  readonly refusedStatus?: number | undefined;
}

export type NoteDetails = (details: ConnectionOperationDetails) => void;

/** Measures a provider's connections. `openTelemetry` makes one. */
export interface ConnectionTelemetry {
  /**
   * Runs an operation, once and at once, and hands on its outcome. Operations that are started in
   * the same asynchronous context are parts of it.
   *
   * @param run takes a function that is told more of the operation, any number of times
   */
  trace<T>(operation: ConnectionOperation, run: (note: NoteDetails) => Promise<T>): Promise<T>;
  /** Told what happens to connections, in the asynchronous context where it happens. */
  observe?(event: ConnectionEvent): void;
  /** Fields for `params._meta` of each request to a server. @default none */
  traceContext?(): Readonly<Record<string, string>> | undefined;
}
