import { abortable } from "../base/bounded-wait.ts";
import type { McpSessionError } from "../base/mcp-session-error.ts";
import { type LiveSession, sameSession } from "./live-session.ts";
import type { BufferedAnswer } from "./buffered-answer.ts";
import type { SessionSnapshot, ActiveSessionSnapshot, ToolList } from "./session-snapshot.ts";
import { createSharedTask, type SharedTask } from "../base/shared-task.ts";

/** The per-step holder of one connection × principal's MCP session. */
export interface SessionSlot {
  /** What to save for the next step; `undefined` while there is nothing to save. */
  readonly snapshot: SessionSnapshot | undefined;
  /** Whether `snapshot` differs from the one the slot was created with. */
  readonly changed: boolean;
  /**
   * A session that the server made and that was not saved, because the handshake was not finished.
   * Whoever gives the slot up ends it with `endSession`: nobody else knows it.
   */
  readonly unfinished: ActiveSessionSnapshot | undefined;
  /**
   * Whether the session took the place of a lost one, in this step or an earlier one, and nobody
   * has asked this yet: what the server held before is gone, and somebody should be told.
   */
  takeLossNotice(): boolean;
  /** Waits until no handshake is under way, so that a session being made is not left behind. */
  settle(): Promise<void>;
}

/** What a client said of itself in `initialize`. */
export interface ClientParams {
  readonly protocolVersion: string;
  readonly capabilities: Record<string, unknown>;
  readonly clientInfo: Record<string, unknown>;
}

/** A slot as the session fetch sees it. Shared by all fetches on the slot in this process. */
export interface SlotState {
  /** The one URL that the slot's session may be used for; set by the first fetch on the slot. */
  url: string | undefined;
  /** What is saved. Set through `saveSnapshot`. */
  snapshot: SessionSnapshot | undefined;
  changed: boolean;
  /** The session that the slot was created with, until it was reported as resumed. */
  seeded: LiveSession | undefined;
  /** Whether a client of this process has been told of the session. */
  isInUse: boolean;
  /** The session in use: initialized, acknowledged and saved. */
  live: LiveSession | undefined;
  /** A session whose `notifications/initialized` is still to come. */
  opened: LiveSession | undefined;
  /** The session that was lost in this step, until another takes its place. */
  lost: ActiveSessionSnapshot | undefined;
  /** Whether a session was lost, another took its place, and nobody has been told. */
  hasLossNotice: boolean;
  /** A tool list for this process only: of a server without sessions, or too large to save. */
  localTools: { readonly session: LiveSession; readonly list: ToolList } | undefined;
  /** Who the client says it is, for an `initialize` of our own. */
  clientParams: ClientParams | undefined;
  /** Whether a stream of server messages is open. There is never a second one. */
  listening: boolean;
  /** Settles when the stream of server messages that is being opened is open, or refused. */
  listenOpening: Promise<void> | undefined;
  /** Failures that were delivered as JSON-RPC errors, under the receipt in their `data`. */
  readonly failures: Map<string, McpSessionError>;
  /** Called once, when the next session comes into use. */
  readonly liveListeners: Set<(live: LiveSession) => void>;
  readonly opening: SharedTask<Opening>;
  readonly confirming: SharedTask<Confirmation>;
  readonly ensuring: SharedTask<Confirmation>;
}

/** How an `initialize` ended: a session to be confirmed, or the server's refusal. */
export type Opening =
  | { readonly opened: LiveSession }
  | { readonly refused: BufferedAnswer; readonly stateless: boolean };

/** How `notifications/initialized` ended. */
export type Confirmation = { readonly live: LiveSession } | { readonly refused: BufferedAnswer };

const states = new WeakMap<SessionSlot, SlotState>();

/**
 * Creates the holder of one connection × principal's MCP session for one step.
 *
 * @param snapshot what an earlier step saved, as `parseSessionSnapshot` returned it
 */
export function createSessionSlot(snapshot?: SessionSnapshot): SessionSlot {
  const state: SlotState = {
    url: undefined,
    snapshot,
    changed: false,
    isInUse: false,
    seeded: snapshot?.kind === "session" ? snapshot : undefined,
    live: snapshot?.kind === "session" ? snapshot : undefined,
    opened: undefined,
    lost: undefined,
    hasLossNotice: snapshot?.kind === "session" && snapshot.replacesLost === true,
    localTools: undefined,
    clientParams: undefined,
    listening: false,
    listenOpening: undefined,
    liveListeners: new Set(),
    failures: new Map(),
    opening: createSharedTask(),
    confirming: createSharedTask(),
    ensuring: createSharedTask(),
  };
  const slot: SessionSlot = {
    get snapshot() {
      return state.snapshot;
    },
    get changed() {
      return state.changed;
    },
    get unfinished() {
      const { opened, url } = state;
      if (opened?.kind !== "session" || url === undefined) return undefined;
      return { version: 1 as const, url, ...opened };
    },
    takeLossNotice() {
      const hadNotice = state.hasLossNotice;
      state.hasLossNotice = false;
      if (state.snapshot?.kind !== "session" || !state.snapshot.replacesLost) return hadNotice;
      const { replacesLost: _, ...told } = state.snapshot;
      saveSnapshot(state, told);
      // Also when it was another process that lost one, and its session was taken over.
      return true;
    },
    async settle() {
      const { opening, confirming, ensuring } = state;
      for (;;) {
        const underWay = [opening, confirming, ensuring].flatMap(({ current }) => current ?? []);
        if (underWay.length === 0) return;
        await Promise.allSettled(underWay);
      }
    },
  };
  states.set(slot, state);
  return slot;
}

/** The inside of a slot. */
export function slotState(slot: SessionSlot): SlotState {
  const state = states.get(slot);
  if (state === undefined) {
    throw new TypeError("slot was not made by createSessionSlot of this copy of @durable-mcp/core");
  }
  return state;
}

export function saveSnapshot(state: SlotState, snapshot: SessionSnapshot | undefined): void {
  if (state.snapshot === snapshot) return;
  state.snapshot = snapshot;
  state.changed = true;
}

/** Puts a session into use, for all requests from now on. */
export function setLive(state: SlotState, live: LiveSession): void {
  state.isInUse = true;
  state.live = live;
  const listeners = [...state.liveListeners];
  state.liveListeners.clear();
  for (const listener of listeners) listener(live);
}

/** The session in use, as soon as there is one. Makes none. */
export async function waitForLive(
  state: SlotState,
  signal: AbortSignal | undefined,
): Promise<LiveSession> {
  if (state.live !== undefined) return state.live;
  const { promise, resolve } = Promise.withResolvers<LiveSession>();
  state.liveListeners.add(resolve);
  try {
    return await abortable(promise, signal);
  } finally {
    state.liveListeners.delete(resolve);
  }
}

/**
 * Gives up a session, unless another has taken its place in the meantime.
 *
 * @returns whether it was still the current one
 */
export function compareAndClear(state: SlotState, session: LiveSession): boolean {
  if (state.opened === session) state.opened = undefined;
  if (state.live === undefined || !sameSession(state.live, session)) return false;
  state.live = undefined;
  if (state.snapshot?.kind === "session") {
    state.lost = state.snapshot;
    saveSnapshot(state, { version: 1, kind: "lost", url: state.snapshot.url });
  }
  return true;
}
