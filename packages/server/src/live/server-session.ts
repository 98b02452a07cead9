import type { Principal } from "@durable-mcp/core";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { ClientCapabilities, Implementation } from "@modelcontextprotocol/sdk/types.js";
import type { StoredSession } from "../records/stored-session.ts";
import type { SharedState } from "../state/shared-state.ts";

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

/** The part of an `McpServer` or `Server` of `@modelcontextprotocol/sdk` that a handler needs. */
export interface ConnectableServer {
  connect(transport: Transport): Promise<void>;
  close(): Promise<void>;
}

export type CreateServer<State extends object> = (context: {
  readonly session: ServerSession<State>;
  /** Of the request that started the session; all later ones have the same. */
  readonly principal: Principal;
}) => ConnectableServer | Promise<ConnectableServer>;

export function createServerSession<State extends object>(
  stored: StoredSession,
  state: SharedState<State>,
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
      return stored.record.initialize.capabilities as ClientCapabilities;
    },
    get clientInfo() {
      return stored.record.initialize["clientInfo"] as Implementation | undefined;
    },
  };
}
