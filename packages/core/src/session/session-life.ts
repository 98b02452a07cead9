import { abortable } from "../base/bounded-wait.ts";
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
  "kind" | "sessionId" | "initializeResult" | "clientCapabilities"
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
 *             before ◀──leaveOpened──┘          none, lost ──enterStateless──▶ stateless
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
  /** Lost in this step, and no other has taken its place. */
  | { readonly name: "lost"; readonly lost: ActiveSessionSnapshot }
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
  /** Whether a session was lost, another took its place, and nobody has been told. */
  readonly isLossUntold: boolean;
  readonly clientParams: ClientParams | undefined;
  /** Called once, when the next session comes into use. */
  readonly liveListeners: Set<(live: LiveSession) => void>;
  /** A tool list for this process only: from a server without sessions, or too large to save. */
  readonly tools: {
    local?: { readonly session: LiveSession; readonly list: ToolList } | undefined;
    /** The pages of a list under way, under the cursor of the next page. */
    readonly pages: Map<unknown, { session: LiveSession; tools: ToolDefinition[] }>;
  };
  /** The stream of server messages. There is never a second one. */
  readonly stream: {
    isOpen: boolean;
    /** Settles when the stream under way is open or refused. */
    opening: Promise<unknown> | undefined;
  };
  /** Failures that were delivered as JSON-RPC errors, under the receipt in their `data`. */
  readonly failures: Map<string, McpSessionError>;
  /** Sessions that are being ended because nobody uses them. */
  readonly endings: Set<Promise<void>>;
  /** The tasks under way, shared by all requests that wait for them. */
  readonly tasks: {
    readonly opening: SharedTask<Opening>;
    readonly ensuring: SharedTask<Confirmation>;
  };
}

/** The outcome of an `initialize`: a session that has to be confirmed, or the server's refusal. */
export type Opening =
  | { readonly opened: LiveSession }
  | { readonly refused: BufferedAnswer; readonly stateless: boolean };

/** The outcome of `notifications/initialized`. */
export type Confirmation = { readonly live: LiveSession } | { readonly refused: BufferedAnswer };

/** Only the functions below may write. */
type Writable = { -readonly [FIELD in keyof SlotState]: SlotState[FIELD] };

const none: SessionPhase = { name: "none" };

/** The phase in which a slot begins. */
export function phaseOf(snapshot: SessionSnapshot | undefined): SessionPhase {
  if (snapshot?.kind === "session") return { name: "live", session: snapshot, isResumed: true };
  if (snapshot?.kind !== "stateless") return none;
  return { name: "stateless", decidedAt: snapshot.decidedAt, lost: undefined };
}

/** The session in use. */
export function liveSession({ phase }: SlotState): LiveSession | undefined {
  return phase.name === "live" ? phase.session : undefined;
}

/** A session whose `notifications/initialized` is still to come. */
export function openedSession({ phase }: SlotState): LiveSession | undefined {
  return phase.name === "opened" ? phase.session : undefined;
}

/** The lost session of this step, until another takes its place. */
export function lostSession({ phase }: SlotState): ActiveSessionSnapshot | undefined {
  const last = phase.name === "opened" ? phase.before : phase;
  return "lost" in last ? last.lost : undefined;
}

/** Whether the next session takes the place of one that was lost, in this step or an earlier one. */
export function isToReplace(state: SlotState): boolean {
  return lostSession(state) !== undefined || state.snapshot?.kind === "lost";
}

/** Whether requests still go out on this session. */
export function isCurrent(state: SlotState, session: LiveSession): boolean {
  const live = liveSession(state);
  return live !== undefined && sameSession(live, session);
}

/** The server answered `initialize`. */
export function enterOpened(state: Writable, session: LiveSession): void {
  state.phase = { name: "opened", session, before: state.phase };
}

/** The opened session is unusable: it was not acknowledged, or it could not be started or saved. */
export function leaveOpened(state: Writable): void {
  if (state.phase.name === "opened") state.phase = state.phase.before;
}

/** Puts an acknowledged and saved session into use, for all requests from now on. */
export function enterLive(state: Writable, live: LiveSession, replacesLost: boolean): void {
  state.isClientTold = true;
  state.isLossUntold ||= replacesLost;
  state.phase = { name: "live", session: live };
  const listeners = [...state.liveListeners];
  state.liveListeners.clear();
  for (const listener of listeners) listener(live);
}

/** Gives up a session that the server no longer knows, if it is still the current one. */
export function compareAndClear(state: Writable, session: LiveSession): boolean {
  if (!isCurrent(state, session)) return false;
  const { snapshot } = state;
  if (snapshot?.kind === "session") {
    state.phase = { name: "lost", lost: snapshot };
    saveSnapshot(state, { version: 1, kind: "lost", url: snapshot.url });
  } else {
    state.phase = none;
  }
  return true;
}

/** The server only speaks revisions without sessions. A lost session gets no successor. */
export function enterStateless(state: Writable, url: URL, decidedAt: number): void {
  state.isLossUntold ||= isToReplace(state);
  state.phase = { name: "stateless", decidedAt, lost: lostSession(state) };
  saveSnapshot(state, { version: 1, kind: "stateless", url: url.href, decidedAt });
}

/** Drops the snapshot of an earlier step, because this step cannot use it. */
export function discardSnapshot(state: Writable): void {
  state.phase = none;
  saveSnapshot(state, undefined);
}

export function bindUrl(state: Writable, url: URL): void {
  state.url = url.href;
}

export function setClientParams(state: Writable, params: ClientParams | undefined): void {
  state.clientParams = params;
}

/** A client has been told of the session. From now on it stays, even if an older client comes. */
export function noteClientTold(state: Writable): void {
  state.isClientTold = true;
}

/** Returns, once, the session of an earlier step that is in use again. */
export function takeResumed(state: Writable): LiveSession | undefined {
  if (state.phase.name !== "live" || !state.phase.isResumed) return undefined;
  const { name, session } = state.phase;
  state.phase = { name, session };
  return session;
}

/** Returns `true` once after a session took the place of a lost one. */
export function takeLossNotice(state: Writable): boolean {
  const hadNotice = state.isLossUntold;
  state.isLossUntold = false;
  if (state.snapshot?.kind !== "session" || !state.snapshot.replacesLost) return hadNotice;
  const { replacesLost: _, ...told } = state.snapshot;
  saveSnapshot(state, told);
  // Another process may have lost the session, and this one took over its successor.
  return true;
}

export function saveSnapshot(state: Writable, snapshot: SessionSnapshot | undefined): void {
  state.snapshot = snapshot;
}

/** Waits for a session in use. Makes none. */
export async function waitForLive(
  state: SlotState,
  signal: AbortSignal | undefined,
): Promise<LiveSession> {
  const live = liveSession(state);
  if (live !== undefined) return live;
  const { promise, resolve } = Promise.withResolvers<LiveSession>();
  state.liveListeners.add(resolve);
  return await abortable(promise, signal).finally(() => state.liveListeners.delete(resolve));
}
