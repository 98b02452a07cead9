import type { McpSessionError } from "../base/mcp-session-error.ts";
import type { SharedTask } from "../base/shared-task.ts";
import type { BufferedAnswer } from "./lost-session.ts";
import type {
  ActiveSessionSnapshot,
  InitializeResult,
  SessionSnapshot,
  ToolDefinition,
  ToolList,
} from "./session-snapshot.ts";

/** A session that the server named. */
export type NamedSession = Pick<
  ActiveSessionSnapshot,
  ("kind" | "sessionId" | "initializeResult") | ("clientCapabilities" | "clientInfo" | "startedAt")
>;

/** A session that requests of this process go out on. */
export type LiveSession =
  | NamedSession
  | { readonly kind: "sessionless"; readonly initializeResult: InitializeResult };

export function sameSession(a: LiveSession, b: LiveSession): boolean {
  return a === b || (a.kind === "session" && b.kind === "session" && a.sessionId === b.sessionId);
}

/**
 * The phase of a slot's session. Each arrow is a function of this file. No other code changes the phase.
 *
 * ```
 * none ──enterOpened──▶ opened ──enterLive──▶ live ──compareAndClear──▶ lost ──enterOpened──▶ …
 *             before ◀──leaveOpened──┘           ▲───────restoreLost───────┘
 *                                               none, lost ──enterStateless──▶ stateless
 * ```
 *
 * A live session that took the place of a lost one has `isLossUntold` until somebody has been told.
 */
export type SessionPhase =
  | { readonly name: "none" }
  /** `initialize` was answered, and `notifications/initialized` is still to come. */
  | { readonly name: "opened"; readonly session: LiveSession; readonly before: SessionPhase }
  /** In use: initialized, acknowledged and saved; `isResumed` until the event `resumed`. */
  | { readonly name: "live"; readonly session: LiveSession; readonly isResumed?: true }
  /**
   * Lost in this step, and no other has taken its place. `named` is the session that the server's answer
   * named instead, until it is in use or given up.
   */
  | {
      readonly name: "lost";
      readonly lost: ActiveSessionSnapshot;
      readonly named?: NamedSession | undefined;
    }
  /** The server only speaks revisions without sessions, as it said at `decidedAt`. */
  | {
      readonly name: "stateless";
      readonly decidedAt: number;
      readonly lost: ActiveSessionSnapshot | undefined;
    };

/** A client's own description in `initialize`, also for an `initialize` of ours. */
export interface ClientParams {
  readonly protocolVersion: string;
  readonly capabilities: Record<string, unknown>;
  readonly clientInfo: Record<string, unknown>;
}

/** The inside of a slot. All fetches on the slot in this process share it. */
export interface SlotState {
  readonly phase: SessionPhase;
  /** The one URL of the slot's session; the first fetch on the slot sets it. */
  readonly url: string | undefined;
  readonly snapshot: SessionSnapshot | undefined;
  /** Whether a client of this process has been told of a session. */
  readonly isClientTold: boolean;
  /** Whether `onStart` has the session, which was made just now, and is not asked about. */
  readonly isStarting?: true | undefined;
  /** Whether a session was lost, another took its place, and nobody has been told. */
  readonly isLossUntold: boolean;
  /** Whether a session that an answer names in place of ours means nothing. */
  readonly ignoresNames: boolean;
  /** Whether the event `ids-vary` has said so. */
  readonly isIgnoringTold: boolean;
  /** `refusedSince` of an earlier step. */
  readonly brokenSince: number | undefined;
  readonly clientParams: ClientParams | undefined;
  /** Called once, when the next session comes into use. */
  readonly liveListeners: Set<(live: LiveSession) => void>;
  /** A tool list for this process only: from a server without sessions, or too large to save. */
  readonly tools: {
    /** The last list of the step. */
    local?: { readonly session: LiveSession; readonly list: ToolList } | undefined;
    /** The pages of a list under way, under the cursor of the next page. */
    readonly pages: Map<unknown, { session: LiveSession; tools: ToolDefinition[] }>;
  };
  /** The stream of server messages. There is never a second one. */
  readonly stream: {
    isOpen: boolean;
    /** The session whose stream another step has, so that this one hears nothing. */
    takenOn?: LiveSession | undefined;
    /** Settles when the stream under way is open or refused. */
    opening: Promise<unknown> | undefined;
  };
  /** Failures that were delivered as JSON-RPC errors, under the receipt in their `data`. */
  readonly failures: Map<string, McpSessionError>;
  /** The clients' requests that went out on a session and have no whole answer yet. */
  readonly underWay: Set<object>;
  /** Sessions that are being ended because nobody uses them. */
  readonly endings: Set<Promise<void>>;
  /** The tasks under way, shared by all requests that wait for them. */
  readonly tasks: {
    readonly opening: SharedTask<Opening>;
    readonly ensuring: SharedTask<Confirmation>;
    /** Asks whether the session is lost. Requests wait for it. */
    readonly asking: SharedTask<void>;
  };
}

/** The outcome of an `initialize`: a session that has to be confirmed, or the server's refusal. */
export type Opening =
  | { readonly opened: LiveSession }
  | { readonly refused: BufferedAnswer; readonly stateless: boolean };

/** A session in use, or the refusal of a new one; `isMade` if it had been opened. */
export type Confirmation =
  | { readonly live: LiveSession }
  | { readonly refused: BufferedAnswer; readonly isMade?: true; readonly stateless?: boolean };
