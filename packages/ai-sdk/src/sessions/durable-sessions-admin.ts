import type { Principal } from "@durable-mcp/core";
import type {
  EndedSession,
  SessionListQuery,
  SessionPage,
  StoredSession,
} from "../slots/session-reports.ts";
import type { SlotName } from "../slots/step-slot.ts";

/** The owner of a stored session, as the store has it. */
export interface SessionOwner extends SlotName {
  /** The principal; `undefined` if the store keeps only a fingerprint of it. */
  readonly principal: Principal | undefined;
  /** The store's own name for the principal. */
  readonly owner: string;
  /** The agent session's id; `undefined` for a shared session, which belongs to none. */
  readonly sessionId?: string | undefined;
}

/** Allows a sweep to end a session on its server. */
export interface SweepAuthorization {
  /** The session's principal. Checked against the record. */
  readonly principal: Principal;
  /**
   * For the DELETE, in addition to the connection's own headers or in their place. With an
   * `authorization` header the connection's `auth` is not asked. @default the connection's own
   */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** Sees the sessions of all principals. Keep it away from code that serves users. */
export interface DurableSessionsAdmin {
  /** All stored sessions of this agent. */
  list(
    query?: SessionListQuery,
  ): Promise<SessionPage<StoredSession & Pick<SessionOwner, "owner" | "principal">>>;
  /**
   * Removes sessions without use for `idleForMs`, and for at least `clockSkewMs` and three times
   * `touchIntervalMs`: 18 minutes, unless you set them. At most one sweeper works on a session, and none
   * on one in use. If `authorize` returns a principal, the session is ended on its server first; if that
   * fails, the record stays for one later sweep. Otherwise only the record goes.
   *
   * It also deletes the calls that wait for a person, and those that are over, without use for as long. A
   * question that nobody answers is not used: let `idleForMs` be longer than people may take.
   *
   * @param options.name only named sessions of that name
   * @param options.shared only shared sessions, or only others. @default all
   * @param options.idleForMs at least three times `touchIntervalMs`
   * @param options.limit how many sessions and calls at most, 1 to 1000. @default 100
   * @returns one entry for each session that the sweep worked on, how many waiting calls it deleted, and
   *   whether there may be more
   * @throws {McpSessionError} `CONNECTION_INVALID`, `STORE_FAILED`; the error of `authorize`
   */
  sweep(options: {
    readonly idleForMs: number;
    readonly name?: string | undefined;
    readonly shared?: boolean | undefined;
    readonly limit?: number | undefined;
    readonly authorize?:
      | ((
          owner: SessionOwner,
        ) => SweepAuthorization | undefined | Promise<SweepAuthorization | undefined>)
      | undefined;
  }): Promise<{
    readonly sessions: readonly (EndedSession & Pick<SessionOwner, "owner">)[];
    readonly waitingCalls: number;
    readonly more: boolean;
  }>;
}
