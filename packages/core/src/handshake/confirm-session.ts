import { letGo } from "../wire/read-answer.ts";
import { sameJson } from "../base/json-values.ts";
import { bufferAnswer } from "../session/buffered-answer.ts";
import type { LiveSession } from "../session/live-session.ts";
import { type RequestTemplate, sendOwn } from "../session/session-context.ts";
import { savedInvalid } from "../session/session-errors.ts";
import {
  type Confirmation,
  enterLive,
  isToReplace,
  leaveOpened,
  liveSession,
  lostSession,
  saveSnapshot,
} from "../session/session-life.ts";
import type { ActiveSessionSnapshot } from "../session/session-snapshot.ts";
import { relistTools } from "../tools/tool-list.ts";
import { endSession } from "./end-session.ts";
import { type HandshakeContext, inTime } from "./handshake-context.ts";
import { runStartHook } from "./start-hook.ts";

type NamedSession = LiveSession & { readonly kind: "session" };

const method = "notifications/initialized";

/**
 * Finishes the handshake of the opened session: acknowledges, starts and saves it, and puts it into use.
 * In a recovery it lists the tools again, before the waiting requests go on.
 *
 * @param finish called when the server has acknowledged the session. From then on it is saved, once, even
 *   if nobody waits any more
 * @throws {McpSessionError} `CONNECTION_UNAVAILABLE`, `STATE_INVALID`
 */
export async function confirmSession(
  context: HandshakeContext,
  opened: LiveSession,
  template: RequestTemplate,
  signal: AbortSignal,
  finish: () => void,
): Promise<Confirmation> {
  const { state } = context;
  const refused = await acknowledge(context, opened, template, signal, finish);
  if (refused !== undefined) {
    leaveOpened(state);
    return { refused };
  }
  const lost = lostSession(state);
  const replacesLost = isToReplace(state);
  try {
    const isNamed = opened.kind === "session";
    const saved = isNamed
      ? await startAndSave(context, opened, replacesLost, template)
      : saveSessionless(context, opened);
    enterLive(state, saved, replacesLost);
  } catch (error) {
    leaveOpened(state);
    throw error;
  }
  if (lost !== undefined) await relistTools(context, lost, template, signal);
  const live = liveSession(state) ?? opened;
  announce(context, live, replacesLost, lost ?? opened);
  return { live };
}

/** @returns the server's refusal */
async function acknowledge(
  context: HandshakeContext,
  opened: LiveSession,
  template: RequestTemplate,
  signal: AbortSignal,
  finish: () => void,
) {
  return await inTime(context, method, signal, async (bounded) => {
    const response = await sendOwn(context, { method }, opened, template, bounded);
    const refused = response.ok ? undefined : await bufferAnswer(response, opened);
    // Some fetches ignore the signal, so another attempt may have made or replaced the session by now.
    bounded.throwIfAborted();
    if (refused !== undefined) return refused;
    finish();
    await letGo(response);
    return undefined;
  });
}

/** The session in use from now on: this one, or the one that another process saved before. */
async function startAndSave(
  context: HandshakeContext,
  opened: NamedSession,
  replacesLost: boolean,
  template: RequestTemplate,
): Promise<ActiveSessionSnapshot> {
  const { state, url, emit, onSession } = context;
  const reason = replacesLost ? "recovered" : "started";
  const toolList = await runStartHook(context, opened, reason).catch(async (error: unknown) => {
    emit({ type: "start-failed", reason });
    const snapshot = { version: 1, url: url.href, ...opened } as const;
    await endSession({ url, snapshot, headers: template.headers, fetch: context.fetch });
    throw error;
  });
  const own: ActiveSessionSnapshot = {
    version: 1,
    url: url.href,
    ...opened,
    ...(toolList && { toolList }),
    ...(replacesLost && { replacesLost }),
  };
  const saved = (await onSession?.(own)) ?? own;
  if (saved.kind !== "session" || saved.url !== url.href) throw savedInvalid(url);
  saveSnapshot(state, saved);
  return saved;
}

function saveSessionless({ state, url }: HandshakeContext, opened: LiveSession): LiveSession {
  if (state.snapshot?.kind !== "sessionless") {
    saveSnapshot(state, { version: 1, kind: "sessionless", url: url.href });
  }
  return opened;
}

function announce(
  { emit }: HandshakeContext,
  live: LiveSession,
  replacesLost: boolean,
  before: LiveSession,
): void {
  const { protocolVersion } = live.initializeResult;
  if (live.kind === "sessionless") emit({ type: "sessionless", protocolVersion });
  else {
    const type = replacesLost ? "recovered" : "started";
    emit({ type, protocolVersion, changed: differs(live, before) });
  }
}

function differs({ initializeResult: a }: LiveSession, { initializeResult: b }: LiveSession) {
  return a.protocolVersion !== b.protocolVersion || !sameJson(a.capabilities, b.capabilities);
}
