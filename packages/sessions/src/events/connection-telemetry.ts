import { McpSessionError } from "@durable-mcp/core";
import { isRecord } from "@durable-mcp/core/internal";
import type { WaitingCallEvent } from "@durable-mcp/core/waiting";
import type {
  ConnectionEvent,
  OperationEvent,
  OperationName,
  OperationOutcome,
} from "./connection-event.ts";

/** An operation of a connection that takes time. It holds no id, token, principal or argument. */
export interface ConnectionOperation {
  readonly operation: OperationName;
  readonly connection: string;
  /** The name of a named session, or the id of a shared one, if the operation is on one. */
  readonly sessionName?: string | undefined;
  /** `"stdio"` for a program on this machine. */
  readonly transport: "http" | "stdio";
  /** The server's origin, such as `https://shop.example`; `undefined` over stdio. */
  readonly origin: string | undefined;
  /** The server's name of the tool of a `call`, an `answer` or a `look`. */
  readonly tool?: string | undefined;
}

/** Details of an operation that become known while it is under way. */
export interface ConnectionOperationDetails {
  /** The negotiated MCP revision, such as `2025-11-25`. */
  readonly protocolVersion?: string | undefined;
  /** Whether the tool's result has `isError`; of an `answer`, also whether the call has ended in the server's error. */
  readonly isToolError?: boolean | undefined;
  /** Of a `call` that waits: its round and state. Of an `answer`: its round, and the state after it. */
  readonly waiting?: Pick<WaitingCallEvent, "round" | "state"> | undefined;
  /** For a failed recovery: the HTTP status with which the server refused a new session. */
  readonly refusedStatus?: number | undefined;
}

/** An operation of the store of durable sessions. */
export interface StoreOperation {
  readonly operation: "get" | "put" | "touch" | "delete" | "list" | "batch" | "publish";
  /** How long it took, in milliseconds. */
  readonly durationMs: number;
  /** Why it failed; `undefined` if it did not. */
  readonly error: unknown;
}

type NoteDetails = (details: ConnectionOperationDetails) => void;

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
  /** Gets each operation of the store of durable sessions, when it is over. */
  observeStore?(operation: StoreOperation): void;
  /** Fields for `params._meta` of each request to a server. @default none */
  traceContext?(): Readonly<Record<string, string>> | undefined;
}

/** Traces the operations of one connection. */
export type TraceOperation = <T>(
  operation: Pick<ConnectionOperation, "operation" | "tool">,
  run: (note: NoteDetails) => Promise<T>,
) => Promise<T>;

/** For connections whose provider has no telemetry. */
const measureNothing: ConnectionTelemetry = { trace: (_, run) => run(() => undefined) };

/** Measures the operations of a connection, and tells of each. */
export function createOperationTracer(
  telemetry: ConnectionTelemetry = measureNothing,
  emit: (event: ConnectionEvent) => void,
  connection: Omit<ConnectionOperation, "operation" | "tool">,
): TraceOperation {
  /** The version that the last connected client speaks. */
  let protocolVersion: string | undefined;
  return (operation, run) =>
    telemetry.trace({ ...connection, ...operation }, async (note) => {
      const end = tellOperation(operation, (event) =>
        emit({ ...event, connection: connection.connection }),
      );
      let known: ConnectionOperationDetails = {};
      const noteAndKeep: NoteDetails = (details) => {
        protocolVersion = details.protocolVersion ?? protocolVersion;
        known = { ...known, ...details };
        note(details);
      };
      try {
        const result = await run(noteAndKeep);
        end(known);
        return result;
      } catch (error) {
        end(known, { error });
        throw error;
      } finally {
        const isOnClient = operation.operation === "list" || operation.operation === "call";
        if (isOnClient && protocolVersion !== undefined) note({ protocolVersion });
      }
    });
}

/** The operations of this process so far. */
let operations = 0;

/** Tells that an operation begins. Returns a function that tells of its end. */
function tellOperation(
  { operation, tool }: Pick<ConnectionOperation, "operation" | "tool">,
  emit: (event: OperationEvent) => void,
): (known: ConnectionOperationDetails, failure?: { readonly error: unknown }) => void {
  const startedAt = performance.now();
  operations += 1;
  const own = { type: "operation", operation, number: operations, ...(tool && { tool }) } as const;
  emit({ ...own, action: "started" });
  return (known, failure) => {
    const durationMs = Math.round(performance.now() - startedAt);
    emit({ ...own, action: "ended", durationMs, ...outcomeOf(known, failure) });
  };
}

function outcomeOf(
  { isToolError, waiting }: ConnectionOperationDetails,
  failure: { readonly error: unknown } | undefined,
): { outcome: OperationOutcome; code?: string } {
  if (failure !== undefined) {
    const { error } = failure;
    if (McpSessionError.isInstance(error)) return { outcome: "failed", code: error.code };
    return { outcome: (error as Error | null)?.name === "AbortError" ? "aborted" : "failed" };
  }
  if (waiting?.state === "waiting") return { outcome: "waiting" };
  if (waiting?.state === "outcome-unknown") return { outcome: "failed", code: "OUTCOME_UNKNOWN" };
  return { outcome: isToolError ? "tool-error" : "done" };
}

/** A fetch that adds the trace context, if there is any, to a client's JSON-RPC requests. */
export function withTraceContext(
  fetch: typeof globalThis.fetch,
  telemetry: ConnectionTelemetry | undefined,
): typeof globalThis.fetch {
  if (telemetry?.traceContext === undefined) return fetch;
  return async (input, init) => {
    const message = parseMessage(init?.body);
    const traced = message && addTraceContext(message, telemetry);
    return await fetch(
      input,
      traced === message ? init : { ...init, body: JSON.stringify(traced) },
    );
  };
}

/**
 * The JSON-RPC message with the trace context in `params._meta`, if it is a request.
 * @see https://modelcontextprotocol.io/community/seps/414-request-meta
 */
export function addTraceContext<MESSAGE extends object>(
  message: MESSAGE,
  telemetry: ConnectionTelemetry | undefined,
): MESSAGE {
  if (!("method" in message && "id" in message)) return message;
  const fields = telemetry?.traceContext?.();
  if (fields === undefined) return message;
  const { params = {} } = message as { params?: Readonly<Record<string, unknown>> };
  const own = params["_meta"] as object | undefined;
  return { ...message, params: { ...params, _meta: { ...fields, ...own } } };
}

function parseMessage(body: unknown): object | undefined {
  if (typeof body !== "string") return undefined;
  try {
    const message: unknown = JSON.parse(body);
    // Requests for OAuth go through the same fetch.
    return isRecord(message) && message["jsonrpc"] === "2.0" ? message : undefined;
  } catch {
    return undefined;
  }
}
