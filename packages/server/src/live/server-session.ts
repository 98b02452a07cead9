import type { Principal } from "@durable-mcp/core";
import type { ClientCapabilities, Implementation, ServerTransport } from "../base/mcp-types.ts";
import type { StoredSession } from "../records/stored-session.ts";

/** A session as the author's server sees it. */
export interface ServerSession<State extends object> {
  /**
   * The session's own JSON object. Read and change it in a handler: changes are stored before the
   * answer goes out. Take it from here each time: after a change elsewhere it is another object.
   */
  readonly state: State;
  /**
   * Applies `change` to the newest state and stores the result at once. `change` runs again when
   * another call was faster, so it changes nothing but its argument, and never conflicts.
   *
   * @throws {McpSessionError} `STATE_CONFLICT` after 20 times, `STATE_INVALID` when the state grows
   *   over its limit, `SESSION_LOST` when the session has ended, `STORE_FAILED`
   */
  update<Result>(change: (state: State) => Result): Promise<Result>;
  /** Negotiated with the client. */
  readonly protocolVersion: string;
  readonly clientCapabilities: ClientCapabilities;
  /** As the client calls itself: unverified. */
  readonly clientInfo: Implementation | undefined;
}

/** The state of one live session, for its author's code. */
export interface SessionState<State extends object> {
  /** In a handler the call's draft; elsewhere a frozen copy. */
  readonly current: State;
  update<Result>(change: (state: State) => Result): Promise<Result>;
}

/** The part of an `McpServer` or `Server` that a handler needs, of either SDK. */
export interface ConnectableServer {
  connect(transport: ServerTransport): Promise<void>;
  close(): Promise<void>;
}

export type CreateServer<State extends object> = (context: {
  readonly session: ServerSession<State>;
  /** Of the request that started the session; all later ones have the same. */
  readonly principal: Principal;
  /** Registers what is to be done when the server in this process has closed. */
  readonly onClose: (callback: () => void | Promise<void>) => void;
}) => ConnectableServer | Promise<ConnectableServer>;

export function createServerSession<State extends object>(
  stored: StoredSession,
  state: SessionState<State>,
): ServerSession<State> {
  return {
    get state() {
      return state.current;
    },
    update: (change) => state.update(change),
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
