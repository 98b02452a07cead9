import { McpSessionError, type Principal } from "@durable-mcp/core";
import type { ClientCapabilities, Implementation, ServerTransport } from "../base/mcp-types.ts";
import type { RequestStateCodec } from "./request-state-codec.ts";
import type { StoredSession } from "../records/stored-session.ts";
import type { SessionTasks } from "../session-tasks/session-tasks.ts";
import type { ServerTasks } from "../tasks/task-host.ts";

/** A session as the author's server sees it; for a client of 2026-07-28, one request. */
export interface ServerSession<State extends object> {
  /**
   * A JSON object, by default the session's own; `stateScope` says whose. In a handler it is a draft of
   * this call's own: changes are stored before the answer goes out, and it freezes then. Elsewhere it is
   * a frozen copy of what was stored last.
   *
   * @throws {McpSessionError} `STATE_INVALID` for a client of 2026-07-28 in scope `"session"`,
   *   `PRINCIPAL_REQUIRED` for an anonymous one in scope `"principal"`
   */
  readonly state: State;
  /**
   * In scope `{ handle }`, in a handler: the handle of this call's state, to be returned in its result.
   * A client that came without one gets a new one; a session has one of its own.
   *
   * @throws {McpSessionError} `STATE_INVALID` in another scope, and outside of a handler
   */
  readonly handle: string;
  /**
   * Applies `change` to the newest state and stores the result at once. `change` runs again when
   * another call was faster, so it must change nothing but its argument.
   *
   * @throws {McpSessionError} `STATE_CONFLICT` after 20 attempts, `STATE_INVALID` when the state grows
   *   over its limit, `SESSION_LOST` when the session has ended, `STORE_FAILED`
   */
  update<Result>(change: (state: State) => Result): Promise<Result>;
  /** Negotiated with the client. A client of 2026-07-28 names it in each request. */
  readonly protocolVersion: string;
  readonly clientCapabilities: ClientCapabilities;
  /** As the client calls itself: unverified. */
  readonly clientInfo: Implementation | undefined;
  /**
   * Tasks of `@modelcontextprotocol/sdk` 1: spread it into the options of `new McpServer`.
   * @throws {McpSessionError} `STATE_INVALID` for a client of 2026-07-28, which has no such tasks
   */
  readonly tasks: SessionTasks;
}

/** The state of one session, or of one request without a session, for its author's code. */
export interface StateAccess<State extends object> {
  /** In a handler the call's draft; elsewhere a frozen copy. */
  current(): State;
  handle(): string;
  update<Result>(change: (state: State) => Result): Promise<Result>;
}

/** The part of an `McpServer` or `Server` that a handler needs, of either SDK. */
export interface ConnectableServer {
  /** Begins to serve on a transport. */
  connect(transport: ServerTransport): Promise<void>;
  /** Stops serving. */
  close(): Promise<void>;
}

/** Builds the MCP server of one session. */
export type CreateServer<State extends object> = (context: {
  readonly session: ServerSession<State>;
  /** Of the request that started the session; all later ones have the same. */
  readonly principal: Principal;
  /** Registers what is to be done when the server in this process has closed. */
  readonly onClose: (callback: () => void | Promise<void>) => void;
  /** The tasks of the principal, for `serveTasks`. */
  readonly tasks: ServerTasks;
  /**
   * For `new McpServer(about, { requestState })` of SDK v2, and for `inputRequired` in its handlers.
   * @throws {McpSessionError} `CONNECTION_INVALID` when it is read and the handler has no `keys`
   */
  readonly requestState: RequestStateCodec;
}) => ConnectableServer | Promise<ConnectableServer>;

/** The client's side of a session. */
export type ClientSide = Pick<
  ServerSession<object>,
  "protocolVersion" | "clientCapabilities" | "clientInfo"
>;

function noTasks(): McpSessionError {
  return new McpSessionError(
    "STATE_INVALID",
    "session.tasks is for clients with sessions. A client of 2026-07-28 has none.",
    { data: { field: "tasks" } },
  );
}

export function createServerSession<State extends object>(
  client: ClientSide,
  state: StateAccess<State>,
  tasks?: () => SessionTasks,
): ServerSession<State> {
  return {
    get tasks() {
      if (!tasks) throw noTasks();
      return tasks();
    },
    get state() {
      return state.current();
    },
    get handle() {
      return state.handle();
    },
    update: (change) => state.update(change),
    get protocolVersion() {
      return client.protocolVersion;
    },
    get clientCapabilities() {
      return client.clientCapabilities;
    },
    get clientInfo() {
      return client.clientInfo;
    },
  };
}

/** The client of a session, as it initialized. */
export function clientOfSession(stored: StoredSession): ClientSide {
  return {
    get protocolVersion() {
      return stored.record.protocolVersion;
    },
    get clientCapabilities() {
      return stored.record.initialize.capabilities;
    },
    get clientInfo() {
      return stored.record.initialize["clientInfo"] as Implementation | undefined;
    },
  };
}
