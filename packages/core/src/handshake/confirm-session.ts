import { sameJson } from "../base/json-values.ts";
import { McpSessionError } from "../base/mcp-session-error.ts";
import { bufferAnswer } from "../session/buffered-answer.ts";
import { type BoundedRequest, sendOwn, type SessionContext } from "../session/session-context.ts";
import {
  enterLive,
  isToReplace,
  leaveOpened,
  liveSession,
  lostSession,
  noteClientTold,
  openedSession,
  saveSnapshot,
} from "../session/session-life.ts";
import type { Confirmation, LiveSession, NamedSession } from "../session/slot-state.ts";
import {
  type ActiveSessionSnapshot,
  type InitializeResult,
  isKeepable,
  isLost,
  type StandingRequests,
  standingRequests,
  type ToolList,
} from "../session/session-snapshot.ts";
import { repeatStandingRequests } from "../session/standing-requests.ts";
import { listFirst, relistTools } from "../tools/own-lists.ts";
import { savedList, tellChanges } from "../tools/tool-list.ts";
import { letGo } from "../wire/read-answer.ts";
import { endLost, endUnused } from "./end-session.ts";
import { inTime } from "./open-session.ts";
import { abortable, startLimit } from "../base/bounded-wait.ts";
import type { SessionStart } from "../session/session-fetch-options.ts";
import { createSessionSlot, slotState } from "../session/session-slot.ts";

/** Handshakes without a session of servers that could not say whether they speak another era. They are not kept. */
export const unsure = new WeakSet<LiveSession>();

/**
 * Finishes the handshake of the opened session: acknowledges it and puts it into use.
 *
 * @param finish called when the server has acknowledged the session. From then on it is saved, once, even
 *   if nobody waits any more
 * @throws {McpSessionError} `CONNECTION_UNAVAILABLE`, `STATE_INVALID`
 */
export async function confirmSession(
  context: SessionContext,
  opened: LiveSession,
  request: BoundedRequest,
  finish: () => void,
): Promise<Confirmation> {
  const method = "notifications/initialized";
  const refused = await inTime(context, method, request, async (bounded) => {
    const response = await sendOwn(context, opened, { method }, bounded);
    const answer = response.ok ? undefined : await bufferAnswer(response, opened);
    // Some fetches ignore the signal, so another attempt may have made or replaced the session by now.
    bounded.signal.throwIfAborted();
    if (answer !== undefined) return answer;
    finish();
    letGo(response);
    return undefined;
  });
  if (refused === undefined) return { live: await useOpened(context, opened, request) };
  leaveOpened(context.state);
  endUnused(context, opened, request);
  return { refused, isMade: true };
}

/**
 * Starts and saves the opened session, and puts it into use. In a recovery it makes the standing requests
 * and lists the tools again, before the waiting requests go on.
 */
export async function useOpened(
  context: SessionContext,
  opened: LiveSession,
  request: BoundedRequest,
): Promise<LiveSession> {
  const { state, url } = context;
  const lost = lostSession(state);
  const replacesLost = isToReplace(state);
  const standing = standingRequests(lost ?? state.snapshot);
  /** The list of the session that was given up in an earlier step. */
  const left = isLost(state.snapshot) && lost === undefined ? savedList(state) : undefined;
  try {
    let saved = opened;
    if (opened.kind === "session") {
      // Without a kept list the client has not listed, or the list is too long to save.
      const lists = lost === undefined || lost.toolList !== undefined;
      const own = { ...opened, ...standing };
      const started = await startAndSave(context, own, { replacesLost, lists }, request);
      const { toolList } = (saved = started);
      if (left && toolList) tellChanges(context, "new-session", left.tools, toolList.tools);
    } else {
      const { kept } = { kept: undefined, ...state.snapshot };
      const snapshot = { version: 1, kind: "sessionless", url: url.href } as const;
      const own = { ...snapshot, ...(kept && { kept }) };
      const { initializeResult } = opened;
      const whole = { ...own, initializeResult, keptAt: context.now() };
      saveSnapshot(state, isKeepable(whole) && !unsure.has(opened) ? whole : own);
    }
    enterLive(state, saved, replacesLost);
  } catch (error) {
    leaveOpened(state);
    throw error;
  }
  if (replacesLost) await restore(context, lost, standing, request);
  const live = liveSession(state) ?? opened;
  tellOfNew(context, live, (lost ?? opened).initializeResult, replacesLost);
  return live;
}

/** Goes on in the session that another process has saved in the lost one's place. @returns `undefined` if there is none */
export async function useFound(
  context: SessionContext,
  request: BoundedRequest,
): Promise<LiveSession | undefined> {
  const { state, url, findSession } = context;
  const lost = lostSession(state);
  const found = lost && (await findSession?.());
  request.signal.throwIfAborted();
  const isOther = found?.url === url.href && found.sessionId !== lost?.sessionId;
  if (!found || !isOther || liveSession(state)) return undefined;
  // It was opened for the proof that a session in doubt is lost.
  endUnused(context, openedSession(state), request);
  leaveOpened(state);
  saveSnapshot(state, found);
  // A lasting client is one client in all processes, and may have read it.
  enterLive(state, found, context.lasting === undefined || found.replacesLost === true);
  await restore(context, lost, standingRequests(lost), request);
  const live = liveSession(state) ?? found;
  tellOfNew(context, live, lost.initializeResult, true);
  return live;
}

/** Makes the session in the place of a lost one what that was, as far as the fetch knows it, before requests go on. */
async function restore(
  context: SessionContext,
  lost: ActiveSessionSnapshot | undefined,
  standing: StandingRequests,
  request: BoundedRequest,
): Promise<void> {
  const live = liveSession(context.state);
  await Promise.all([
    live && repeatStandingRequests(context, live, standing, request),
    lost && relistTools(context, lost, request),
  ]);
  // A server that has not lost it, and whose balancer only chose another replica, would keep it.
  void endLost(context, lost, request);
}

function tellOfNew(
  { session, emit }: SessionContext,
  live: LiveSession,
  before: InitializeResult,
  replacesLost: boolean,
): void {
  const { protocolVersion, capabilities } = live.initializeResult;
  if (live.kind === "sessionless") {
    if (session === "stateful") emit({ type: "sessionless", protocolVersion });
    return;
  }
  const changed =
    protocolVersion !== before.protocolVersion || !sameJson(capabilities, before.capabilities);
  emit({ type: replacesLost ? "recovered" : "started", protocolVersion, changed });
}

/** The session in use from now on: this one, or the one that another process saved before. */
async function startAndSave(
  context: SessionContext,
  opened: NamedSession & StandingRequests,
  { replacesLost, lists }: { readonly replacesLost: boolean; readonly lists: boolean },
  request: BoundedRequest,
): Promise<ActiveSessionSnapshot> {
  const { state, url, emit, onSession } = context;
  const reason = replacesLost ? "recovered" : "started";
  const snapshot: ActiveSessionSnapshot = { version: 1, url: url.href, ...opened };
  const listed = await runStartHook(context, snapshot, reason).catch((error: unknown) => {
    emit({ type: "start-failed", reason });
    endUnused(context, opened, request);
    throw error;
  });
  const toolList = listed ?? (lists ? await listFirst(context, snapshot, request) : undefined);
  const own: ActiveSessionSnapshot = {
    ...snapshot,
    ...(toolList && { toolList }),
    ...(replacesLost && { replacesLost }),
    ...(state.ignoresNames && { namesVary: true }),
  };
  const saved = (await onSession?.(own)) ?? own;
  if (saved.kind !== "session" || saved.url !== url.href) {
    throw new McpSessionError(
      "STATE_INVALID",
      "onSession must return nothing or the snapshot of a session with the same URL.",
      { data: { field: "onSession", origin: url.origin } },
    );
  }
  saveSnapshot(state, saved);
  return saved;
}

/**
 * Calls `onStart` with a new session. Saving and all other requests wait for it.
 *
 * @returns the tools that were listed meanwhile
 * @throws {McpSessionError} `CONNECTION_UNAVAILABLE`
 */
async function runStartHook(
  { url, fork, onStart, startMs, recovery }: SessionContext,
  snapshot: ActiveSessionSnapshot,
  reason: SessionStart["reason"],
): Promise<ToolList | undefined> {
  if (onStart === undefined) return undefined;
  const slot = createSessionSlot(snapshot);
  const state = slotState(slot);
  // It must stay, even if the hook's client is older, and was made just now.
  noteClientTold(state, true);
  const over = new AbortController();
  const abortSignal = over.signal;
  const late = new DOMException(`onStart did not end within ${startMs} ms.`, "TimeoutError");
  const stop = startLimit(startMs, () => over.abort(late), true);
  // It makes no session of its own, and reports nothing twice.
  const forked = fork({
    ...{ slot, onStart: undefined, onEvent: undefined },
    recovery: { ...recovery, onLoss: "report" },
  });
  const fetch: typeof globalThis.fetch = async (input, init) => {
    abortSignal.throwIfAborted();
    return await forked.fetch(input, init);
  };
  try {
    await abortable(Promise.resolve(onStart({ reason, fetch, abortSignal })), abortSignal);
    // The hook may have caught the failure of a request that met the loss.
    if (liveSession(state) === undefined) {
      throw new Error("The session was lost while onStart ran.");
    }
  } catch (cause) {
    const why = abortSignal.reason === late ? ` did not end within ${startMs} ms` : " failed";
    throw new McpSessionError(
      "CONNECTION_UNAVAILABLE",
      `onStart at ${url.origin}${why}; see the cause. The session was ended, and the next request starts another.`,
      { data: { field: "onStart", origin: url.origin }, cause },
    );
  } finally {
    stop();
    over.abort(new DOMException("onStart is over.", "AbortError"));
  }
  return slot.snapshot?.kind === "session" ? slot.snapshot.toolList : undefined;
}
