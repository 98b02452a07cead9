import { abortable } from "../base/bounded-wait.ts";
import { type AroundRecovery, runAroundRecovery } from "./around-recovery.ts";
import { bufferAnswer } from "../session/buffered-answer.ts";
import { handshakeTimedOut, savedInvalid, sessionLost } from "../session/handshake-errors.ts";
import { speaksOnlyStatelessVersions, toLiveSession } from "./initialize-answer.ts";
import { type JsonRpcResponse, parseMessage } from "../wire/json-rpc.ts";
import type { RequestTemplate, SendOwnMessage } from "../session/own-message.ts";
import { readAnswer } from "../wire/read-answer.ts";
import type { RequestIds } from "../wire/request-ids.ts";
import type { EmitSessionEvent } from "../session/session-event.ts";
import { type LiveSession } from "../session/live-session.ts";
import {
  type ClientParams,
  type Confirmation,
  type Opening,
  saveSnapshot,
  setLive,
  type SlotState,
} from "../session/session-slot.ts";
import {
  asInitializeResult,
  LATEST_SESSION_VERSION,
  type SessionSnapshot,
  type ActiveSessionSnapshot,
  type ToolList,
} from "../session/session-snapshot.ts";
import type { SessionStart } from "./start-hook.ts";

type NamedSession = LiveSession & { readonly kind: "session" };

/** The save point. What it returns takes the place of the new session, as another process saved it. */
export type OnSession = (
  snapshot: ActiveSessionSnapshot,
) => SessionSnapshot | void | Promise<SessionSnapshot | void>;

/**
 * Makes sessions, one at a time per slot, however many requests and clients wait for it.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#initialization
 */
export interface Handshake {
  /** Sends `initialize`, without an id. */
  open(template: RequestTemplate, signal: AbortSignal | undefined): Promise<Opening>;
  /** Sends `notifications/initialized` for the opened session and saves it. */
  confirm(template: RequestTemplate, signal: AbortSignal | undefined): Promise<Confirmation>;
  /** The session in use; makes one when there is none. */
  ensure(template: RequestTemplate, signal: AbortSignal | undefined): Promise<Confirmation>;
}

export function createHandshake({
  state,
  url,
  sendOwn,
  ids,
  emit,
  onSession,
  onStart,
  abandon,
  afterRecovery,
  aroundRecovery,
  recover,
  timeoutMs,
  now,
}: {
  state: SlotState;
  url: URL;
  sendOwn: SendOwnMessage;
  ids: RequestIds;
  emit: EmitSessionEvent;
  onSession: OnSession | undefined;
  /** Runs when a session is acknowledged, before it is saved; resolves to the tools it listed. */
  onStart:
    | ((session: NamedSession, reason: SessionStart["reason"]) => Promise<ToolList | undefined>)
    | undefined;
  /** Ends a session that will not be used. */
  abandon: (session: NamedSession, template: RequestTemplate) => Promise<unknown>;
  /** Runs when a session took the place of `lost`, before the requests that wait for it go on. */
  afterRecovery: (
    lost: ActiveSessionSnapshot,
    template: RequestTemplate,
    signal: AbortSignal,
  ) => Promise<void>;
  aroundRecovery: AroundRecovery | undefined;
  /** Whether a session may be made in a lost one's place. */
  recover: boolean;
  /** How long each request of the handshake may take, in milliseconds. */
  timeoutMs: number;
  now: () => number;
}): Handshake {
  const open: Handshake["open"] = (template, callerSignal) =>
    state.opening(async (signal): Promise<Opening> => {
      if (!recover && state.lost !== undefined) throw sessionLost("initialize", url);
      const id = ids.next();
      const params = state.clientParams ?? paramsOf(state.lost);
      const message = { id, method: "initialize", params };
      const { response, refused, answer } = await inTime(
        message.method,
        signal,
        async (bounded) => {
          const sent = await sendOwn(message, { template, session: undefined, signal: bounded });
          return sent.ok
            ? { response: sent, answer: await readAnswer(sent, id) }
            : { response: sent, refused: await bufferAnswer(sent) };
        },
      );
      if (refused !== undefined) {
        return { refused, stateless: recordVerdict(parseMessage(refused.body)) };
      }
      const initializeResult = asInitializeResult(answer?.result);
      if (initializeResult === undefined) {
        const unusable = {
          status: 200,
          headers: new Headers({ "content-type": "application/json" }),
          body: JSON.stringify(answer ?? noAnswer(id)),
          loss: "none" as const,
        };
        return { refused: unusable, stateless: recordVerdict(answer) };
      }
      // Not every fetch heeds a signal: a late answer must not replace what was opened since.
      signal.throwIfAborted();
      state.opened = toLiveSession(url, response, initializeResult, params);
      return { opened: state.opened };
    }, callerSignal);

  /** Remembers a server that only speaks revisions without sessions. */
  const recordVerdict = (message: object | undefined): boolean => {
    if (!speaksOnlyStatelessVersions(message)) return false;
    // What was lost has no session in its place, and is gone all the same.
    state.hasLossNotice ||= state.lost !== undefined || state.snapshot?.kind === "lost";
    saveSnapshot(state, { version: 1, kind: "stateless", url: url.href, decidedAt: now() });
    emit({ type: "stateless" });
    return true;
  };

  const confirm: Handshake["confirm"] = (template, callerSignal) =>
    state.confirming(async (signal, finish): Promise<Confirmation> => {
      const { opened } = state;
      if (opened === undefined) {
        if (state.live !== undefined) return { live: state.live };
        throw sessionLost("notifications/initialized", url);
      }
      const initialized = { method: "notifications/initialized" };
      const refused = await inTime(initialized.method, signal, async (bounded) => {
        const response = await sendOwn(initialized, { template, session: opened, signal: bounded });
        const answer = response.ok ? undefined : await bufferAnswer(response, opened);
        // Not every fetch heeds a signal: by now another attempt may have made or replaced it.
        bounded.throwIfAborted();
        if (answer !== undefined) return answer;
        // Acknowledged: it is saved now, once, whoever still waits.
        finish();
        await response.body?.cancel();
        return undefined;
      });
      if (refused !== undefined) {
        state.opened = undefined;
        return { refused };
      }
      const { lost } = state;
      const replacesLost = lost !== undefined || state.snapshot?.kind === "lost";
      try {
        const isNamed = opened.kind === "session";
        setLive(
          state,
          isNamed ? await startAndSave(opened, replacesLost, template) : saveSessionless(opened),
        );
      } finally {
        state.opened = undefined;
      }
      state.lost = undefined;
      state.hasLossNotice ||= replacesLost;
      if (lost !== undefined) await afterRecovery(lost, template, signal);
      const live = state.live ?? opened;
      announce(live, replacesLost, lost ?? opened);
      return { live };
    }, callerSignal);

  const startAndSave = async (
    opened: NamedSession,
    replacesLost: boolean,
    template: RequestTemplate,
  ): Promise<LiveSession> => {
    const reason = replacesLost ? "recovered" : "started";
    const toolList = await onStart?.(opened, reason).catch(async (error: unknown) => {
      emit({ type: "start-failed", reason });
      await abandon(opened, template);
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
    if (saved.kind !== "session" || saved.url !== url.href) {
      throw savedInvalid(url);
    }
    saveSnapshot(state, saved);
    return saved;
  };

  const saveSessionless = (opened: LiveSession): LiveSession => {
    if (state.snapshot?.kind !== "sessionless") {
      saveSnapshot(state, { version: 1, kind: "sessionless", url: url.href });
    }
    return opened;
  };

  const announce = (live: LiveSession, replacesLost: boolean, before: LiveSession) => {
    const { protocolVersion } = live.initializeResult;
    if (live.kind === "sessionless") emit({ type: "sessionless", protocolVersion });
    else {
      const type = replacesLost ? "recovered" : "started";
      emit({ type, protocolVersion, changed: differs(live, before) });
    }
  };

  /** A request of the handshake, bounded in time also when no caller has a signal. */
  const inTime = async <T>(
    method: string,
    signal: AbortSignal,
    exchange: (bounded: AbortSignal) => Promise<T>,
  ): Promise<T> => {
    const timeout = AbortSignal.timeout(timeoutMs);
    try {
      // Not every fetch heeds a signal.
      return await abortable(exchange(AbortSignal.any([signal, timeout])), timeout);
    } catch (cause) {
      if (!timeout.aborted || signal.aborted) throw cause;
      throw handshakeTimedOut(method, url, timeoutMs, cause);
    }
  };

  const ensure: Handshake["ensure"] = async (template, callerSignal) => {
    if (state.live !== undefined) return { live: state.live };
    const make = async (signal: AbortSignal): Promise<Confirmation> => {
      if (state.opened === undefined) {
        const opening = await open(template, signal);
        if ("refused" in opening) return opening;
      }
      return await confirm(template, signal);
    };
    const ensured = await state.ensuring(async (signal) => {
      const isRecovery = recover && state.lost !== undefined && state.opened === undefined;
      if (aroundRecovery === undefined || !isRecovery) return await make(signal);
      return await runAroundRecovery(aroundRecovery, () => make(signal));
    }, callerSignal);
    // It may have been lost again while others waited for it.
    const isLost = "live" in ensured && state.live === undefined && state.lost !== undefined;
    return isLost ? await ensure(template, callerSignal) : ensured;
  };

  return { open, confirm, ensure };
}

/** Who we say we are when no client has said who it is, as with clients that resume by themselves. */
function paramsOf(lost: ActiveSessionSnapshot | undefined): ClientParams {
  return {
    protocolVersion: lost?.initializeResult.protocolVersion ?? LATEST_SESSION_VERSION,
    capabilities: lost?.clientCapabilities ?? {},
    clientInfo: { name: "durable-mcp", version: "1" },
  };
}

function noAnswer(id: string): JsonRpcResponse {
  return {
    jsonrpc: "2.0",
    id,
    error: { code: -32000, message: "The server sent no usable answer to initialize." },
  };
}

function differs(a: LiveSession, b: LiveSession): boolean {
  return (
    a.initializeResult.protocolVersion !== b.initializeResult.protocolVersion ||
    JSON.stringify(a.initializeResult.capabilities) !==
      JSON.stringify(b.initializeResult.capabilities)
  );
}
