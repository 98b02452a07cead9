import { sameJson } from "../base/json-values.ts";
import { McpSessionError } from "../base/mcp-session-error.ts";
import { bufferAnswer } from "../session/buffered-answer.ts";
import { type BoundedRequest, type SessionContext, sendOwn } from "../session/session-context.ts";
import {
  enterLive,
  isToReplace,
  leaveOpened,
  liveSession,
  lostSession,
  saveSnapshot,
} from "../session/session-life.ts";
import type { Confirmation, LiveSession, NamedSession } from "../session/slot-state.ts";
import {
  type ActiveSessionSnapshot,
  isKeepable,
  type StandingRequests,
  standingRequests,
} from "../session/session-snapshot.ts";
import { repeatStandingRequests } from "../session/standing-requests.ts";
import { listFirst, relistTools } from "../tools/own-lists.ts";
import { letGo } from "../wire/read-answer.ts";
import { endLost, endUnused } from "./end-session.ts";
import { inTime } from "./open-session.ts";
import { runStartHook } from "./start-hook.ts";

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
  const { state, url, emit } = context;
  const lost = lostSession(state);
  const replacesLost = isToReplace(state);
  const standing = standingRequests(lost ?? state.snapshot);
  try {
    let saved = opened;
    if (opened.kind === "session") {
      // Without a kept list the client has not listed, or the list is too long to save.
      const lists = lost === undefined || lost.toolList !== undefined;
      const own = { ...opened, ...standing };
      saved = await startAndSave(context, own, { replacesLost, lists }, request);
    } else {
      const { kept } = { kept: undefined, ...state.snapshot };
      const snapshot = { version: 1, kind: "sessionless", url: url.href } as const;
      const own = { ...snapshot, ...(kept && { kept }) };
      const { initializeResult } = opened;
      const whole = { ...own, initializeResult, keptAt: context.now() };
      saveSnapshot(state, isKeepable(whole) ? whole : own);
    }
    enterLive(state, saved, replacesLost);
  } catch (error) {
    leaveOpened(state);
    throw error;
  }
  if (replacesLost) {
    await Promise.all([
      repeatStandingRequests(context, opened, standing, request),
      lost && relistTools(context, lost, request),
    ]);
  }
  // A server that has not lost it, and whose balancer only chose another replica, would keep it.
  void endLost(context, lost, request);
  const live = liveSession(state) ?? opened;
  const { protocolVersion, capabilities } = live.initializeResult;
  if (live.kind === "sessionless") {
    if (context.session === "stateful") emit({ type: "sessionless", protocolVersion });
  } else {
    const before = (lost ?? opened).initializeResult;
    const changed =
      protocolVersion !== before.protocolVersion || !sameJson(capabilities, before.capabilities);
    emit({ type: replacesLost ? "recovered" : "started", protocolVersion, changed });
  }
  return live;
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
