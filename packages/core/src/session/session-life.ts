import { abortable } from "../base/bounded-wait.ts";
import {
  type ActiveSessionSnapshot,
  type InitializeResult,
  isLost,
  lostSnapshot,
  type SessionSnapshot,
  standingRequests,
} from "./session-snapshot.ts";
import {
  type ClientParams,
  type LiveSession,
  type NamedSession,
  sameSession,
  type SessionPhase,
  type SlotState,
} from "./slot-state.ts";

/** Only the functions below may write. */
type Writable = { -readonly [FIELD in keyof SlotState]: SlotState[FIELD] };

const none: SessionPhase = { name: "none" };

/** The phase in which a slot begins. */
export function phaseOf(snapshot: SessionSnapshot | undefined): SessionPhase {
  if (snapshot?.kind === "session") return { name: "live", session: snapshot, isResumed: true };
  if (snapshot?.kind !== "stateless") return none;
  return { name: "stateless", decidedAt: snapshot.decidedAt, lost: undefined };
}

/** Goes on without a session, with the handshake of an earlier step, if the slot has not begun. */
export function resumeHandshake(state: Writable, initializeResult: InitializeResult): void {
  if (state.phase.name !== "none") return;
  const session = { kind: "sessionless", initializeResult } as const;
  state.phase = { name: "live", session, isResumed: true };
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
  return lostSession(state) !== undefined || isLost(state.snapshot);
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
  if (state.phase.name !== "opened") return;
  const { before } = state.phase;
  // A named session that could not be used is not tried again.
  const wasNamed = before.name === "lost" && before.named !== undefined;
  state.phase = wasNamed ? { name: "lost", lost: before.lost } : before;
}

/** Puts an acknowledged and saved session into use, for all requests from now on. */
export function enterLive(state: Writable, live: LiveSession, replacesLost: boolean): void {
  state.isClientTold = true;
  state.isLossUntold ||= replacesLost;
  useLive(state, live);
}

function useLive(state: Writable, live: LiveSession): void {
  state.phase = { name: "live", session: live };
  const listeners = [...state.liveListeners];
  state.liveListeners.clear();
  for (const listener of listeners) listener(live);
}

/**
 * Gives up a session that the server no longer knows, if it is still the current one.
 *
 * @param named the session that the server named instead
 */
export function compareAndClear(
  state: Writable,
  session: LiveSession,
  named?: NamedSession,
): boolean {
  if (!isCurrent(state, session)) return false;
  const { snapshot } = state;
  if (snapshot?.kind === "session") {
    state.phase = { name: "lost", lost: snapshot, named };
    saveSnapshot(state, lostSnapshot(snapshot.url, standingRequests(snapshot)));
  } else {
    state.phase = none;
    if (snapshot?.kind === "sessionless") {
      saveSnapshot(state, { version: 1, kind: "sessionless", url: snapshot.url });
    }
  }
  return true;
}

/** A session is lost for good if the way was broken so long before, in an earlier step, in milliseconds. */
const brokenForMs = 60_000;

/**
 * Takes back a loss: what stands before the server refuses a new session like the old one, so nothing is known
 * about the session. If an earlier step met the same a minute before, the session stays lost.
 *
 * @returns whether it is in use again
 */
export function restoreLost(state: Writable, now: number): boolean {
  if (state.phase.name !== "lost") return false;
  const { lost } = state.phase;
  if (now - (state.brokenSince ?? now) >= brokenForMs) return false;
  const session = { ...lost, refusedSince: lost.refusedSince ?? now };
  saveSnapshot(state, session);
  useLive(state, session);
  return true;
}

/** Whether the session was lost and taken back since a request went out on it. */
export function isRestored(state: SlotState, session: LiveSession): boolean {
  return isCurrent(state, session) && liveSession(state) !== session;
}

/** Sessions that other processes have begun, as long as the server has not refused them. */
export const foundSessions = new WeakSet<LiveSession>();

/** The way to the server works again. */
export function noteAnswered(state: Writable, session: LiveSession): void {
  const { snapshot } = state;
  if (snapshot?.kind !== "session" || snapshot.refusedSince === undefined) return;
  if (!isCurrent(state, session)) return;
  state.brokenSince = undefined;
  const { refusedSince: _, ...reached } = snapshot;
  saveSnapshot(state, reached);
}

/** The session that the server's answer named in place of the lost one. */
export function namedInstead({ phase }: SlotState): NamedSession | undefined {
  return phase.name === "lost" ? phase.named : undefined;
}

/**
 * The named session cannot be used.
 *
 * @param isOther whether the server named yet another one. Then its names mean nothing
 */
export function giveUpNamed(state: Writable, isOther: boolean): void {
  if (state.phase.name !== "lost") return;
  state.phase = { name: "lost", lost: state.phase.lost };
  state.ignoresNames ||= isOther;
}

/** Whether nobody has been told yet that names are ignored. From now on somebody has. */
export function tellNamesIgnored(state: Writable): boolean {
  const isUntold = !state.isIgnoringTold;
  state.isIgnoringTold = true;
  return isUntold;
}

/** The server only speaks revisions without sessions. A lost session gets no successor. */
export function enterStateless(state: Writable, url: URL, decidedAt: number): void {
  state.isLossUntold ||= isToReplace(state);
  state.phase = { name: "stateless", decidedAt, lost: lostSession(state) };
  const { snapshot } = state;
  const isAgain = snapshot?.kind === "stateless" && snapshot.url === url.href;
  const { kept } = isAgain ? snapshot : {};
  const verdict = { version: 1, kind: "stateless", url: url.href, decidedAt } as const;
  const untold = state.isLossUntold && ({ replacesLost: true } as const);
  saveSnapshot(state, { ...verdict, ...(kept && { kept }), ...untold });
}

/** Begins without the snapshot of an earlier step. */
export function dropSnapshot(state: Writable): void {
  state.phase = none;
  saveSnapshot(state, undefined);
}

/** Drops the snapshot of an earlier step, because this step cannot use it. Its session counts as lost. */
export function discardSnapshot(state: Writable, { href }: URL): void {
  const { snapshot } = state;
  const hadSession = snapshot?.kind === "session" || isLost(snapshot);
  state.phase = none;
  saveSnapshot(state, hadSession ? lostSnapshot(href) : undefined);
}

export function bindUrl(state: Writable, url: URL): void {
  state.url = url.href;
}

export function setClientParams(state: Writable, params: ClientParams | undefined): void {
  state.clientParams = params;
}

/** A client has been told of the session. From now on it stays, even if an older client comes. */
export function noteClientTold(state: Writable, isStarting?: true): void {
  state.isClientTold = true;
  state.isStarting ||= isStarting;
}

/** Returns, once, the session of an earlier step that is in use again. */
export function takeResumed(state: Writable): LiveSession | undefined {
  if (state.phase.name !== "live" || !state.phase.isResumed) return undefined;
  const { name, session } = state.phase;
  state.phase = { name, session };
  return session;
}

/** Returns `true` once after something took the place of a lost session. */
export function takeLossNotice(state: Writable): boolean {
  const hadNotice = state.isLossUntold;
  state.isLossUntold = false;
  if (!state.snapshot?.replacesLost) return hadNotice;
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
