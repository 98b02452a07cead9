import { exchange } from "../exchange/exchange.ts";
import { useOpened } from "../handshake/confirm-session.ts";
import { toClientParams } from "../handshake/open-session.ts";
import type { Pipeline, SessionContext } from "../session/session-context.ts";
import { sessionIdHeader } from "../session/session-headers.ts";
import {
  enterOpened,
  leaveOpened,
  liveSession,
  openedSession,
  saveSnapshot,
  setClientParams,
} from "../session/session-life.ts";
import { asInitializeResult } from "../session/session-snapshot.ts";
import { toolsFor } from "../tools/tool-list.ts";
import {
  emptyAnswer,
  isRequest,
  type JsonRpcMessage,
  type JsonRpcRequest,
  methodNotFoundAnswer,
  resultAnswer,
  revisionIn,
} from "../wire/json-rpc.ts";
import { type OutgoingRequest, sendToEndpoint } from "../wire/server-endpoint.ts";
import { observeAnswer } from "./observe-answer.ts";

/**
 * Answers clients that make their handshakes, and keep their sessions, themselves. The handshake with a server
 * without sessions is kept: from then on it is answered here, and requests go out on it. All else passes unchanged.
 */
export function createOwnHandshakes(context: SessionContext): Pipeline["answer"] {
  const { state } = context;
  /** Whether the server has refused a client's `server/discover`. */
  let refusesProbe = false;
  const noteProbe = (isRefused: boolean) => {
    refusesProbe = isRefused;
    markHandshake(context, isRefused);
  };

  const acknowledge = async (request: OutgoingRequest) => {
    if (liveSession(state)) return emptyAnswer(202);
    const opened = openedSession(state);
    const response = await sendToEndpoint(context, request);
    if (opened === undefined) return response;
    if (!response.ok) leaveOpened(state);
    else {
      const { signal = new AbortController().signal } = request;
      await useOpened(context, opened, { ...request, signal });
      markHandshake(context, refusesProbe);
    }
    return response;
  };
  const initialize = async (request: OutgoingRequest, { id, params }: JsonRpcRequest) => {
    setClientParams(state, toClientParams(params));
    const result = liveSession(state)?.initializeResult;
    const asked = params?.["protocolVersion"];
    // An older client could not speak the version of the kept handshake.
    const canSpeak = result && typeof asked === "string" && asked >= result.protocolVersion;
    if (canSpeak) return resultAnswer(id, result);
    return observeInitialize(context, await sendToEndpoint(context, request), id);
  };
  const discover = async (request: OutgoingRequest, { id }: JsonRpcRequest) => {
    const { snapshot } = state;
    const isKnown = snapshot?.kind === "sessionless" && snapshot.refusesProbe;
    if (isKnown && liveSession(state)) return methodNotFoundAnswer(id);
    return observeProbe(await sendToEndpoint(context, request), id, noteProbe);
  };

  return async (request, message) => {
    const live = liveSession(state);
    const { method, headers } = request;
    if (headers.has(sessionIdHeader)) return await sendToEndpoint(context, request);
    if (message === undefined) {
      // A step is too short to listen.
      const listens = method === "GET" && !headers.has("last-event-id");
      return live && listens ? emptyAnswer(405) : await sendToEndpoint(context, request);
    }
    if ("method" in message && message.method === "notifications/initialized")
      return await acknowledge(request);
    if (isRequest(message)) {
      if (message.method === "server/discover") return await discover(request, message);
      if (message.method === "initialize") return await initialize(request, message);
    }
    if (!live || revisionIn(message) !== undefined) return await sendToEndpoint(context, request);
    const kept = isRequest(message) && toolsFor(context, message);
    return kept ? resultAnswer(message.id, kept) : await exchange(context, message, request);
  };
}

/** Notes in the snapshot of a handshake whether the server refused the probe before it. */
function markHandshake({ state }: SessionContext, isRefused: boolean): void {
  const { snapshot } = state;
  if (snapshot?.kind !== "sessionless" || snapshot.initializeResult === undefined) return;
  const { refusesProbe = false, ...others } = snapshot;
  if (refusesProbe === isRefused) return;
  saveSnapshot(state, isRefused ? { ...others, refusesProbe: true } : others);
}

/** Reads an answer to `initialize`. A session that it names is the client's own. */
function observeInitialize(
  { state }: SessionContext,
  response: Response,
  id: JsonRpcRequest["id"],
): Response {
  leaveOpened(state);
  const isNamed = response.headers.has(sessionIdHeader);
  if (isNamed || !response.ok || response.redirected) return response;
  return observeAnswer(response, (message) => {
    const initializeResult = asInitializeResult(resultFor(id, message));
    if (initializeResult) enterOpened(state, { kind: "sessionless", initializeResult });
  });
}

function observeProbe(
  response: Response,
  id: JsonRpcRequest["id"],
  note: (isRefused: boolean) => void,
): Response {
  const { ok, status } = response;
  if (!ok && status < 500 && ![401, 403, 408, 429].includes(status)) note(true);
  if (!ok) return response;
  return observeAnswer(response, (message) => {
    if (message === undefined || "method" in message || message.id !== id) return;
    note(message.error !== undefined);
  });
}

function resultFor(id: JsonRpcRequest["id"], message: JsonRpcMessage | undefined): unknown {
  const isAnswer = message && !("method" in message) && message.id === id;
  return isAnswer ? message.result : undefined;
}
