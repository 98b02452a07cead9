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
