import { isAuthOrOutage, toResponse, toResponseFor } from "../session/buffered-answer.ts";
import {
  announceResumption,
  discard,
  sendOn,
  type SessionContext,
} from "../session/session-context.ts";
import { eraUnsupported, sessionRefused } from "../session/session-errors.ts";
import {
  enterStateless,
  liveSession,
  lostSession,
  noteClientTold,
  openedSession,
  setClientParams,
} from "../session/session-life.ts";
import {
  emptyAnswer,
  type JsonRpcRequest,
  methodNotFoundAnswer,
  resultAnswer,
  revisionIn,
} from "../wire/json-rpc.ts";
import type { OutgoingRequest } from "../wire/server-endpoint.ts";
import { isRecord } from "../base/json-values.ts";
import { initializeResultOf } from "../session/session-snapshot.ts";
import type { LiveSession } from "../session/slot-state.ts";
import { letGo, readAnswer } from "../wire/read-answer.ts";
import { unsure } from "./confirm-session.ts";
import { endLost } from "./end-session.ts";
import { ensureOpened, ensureSession } from "./handshake.ts";
import { toClientParams } from "./open-session.ts";

// A client's handshake. If there is a session, nothing reaches the network. Otherwise the first message
// of the client makes the fetch open a session.

/** Answers like a server of the session era; `undefined` if the server itself should see the probe. */
export async function answerProbe(
  context: SessionContext,
  message: JsonRpcRequest,
  request: OutgoingRequest,
): Promise<Response | undefined> {
  const { state } = context;
  const { id, params } = message;
  const meta = params?.["_meta"];
  const fields = isRecord(meta) ? meta : {};
  const description = toClientParams({
    capabilities: fields["io.modelcontextprotocol/clientCapabilities"],
    clientInfo: fields["io.modelcontextprotocol/clientInfo"],
  });
  setClientParams(state, description);
  announceResumption(context);
  if (liveSession(state) ?? openedSession(state)) return methodNotFoundAnswer(id);
  // Only calls without a session can wait.
  if (context.waiting) return undefined;
  const opening = await ensureOpened(context, request);
  if ("opened" in opening) {
    const { opened } = opening;
    const isKept = opened.kind === "session" || !context.statelessIfUnnamed;
    return isKept
      ? methodNotFoundAnswer(id)
      : await probeUnnamed(context, opened, message, request);
  }
  // A refused login or an outage tells nothing about the server's revisions. Other refusals may.
  return isAuthOrOutage(opening.refused) ? toResponseFor(id, opening.refused) : undefined;
}

/** Asks a server that has named no session, and goes over to the era of the probe, if the server speaks it. */
async function probeUnnamed(
  context: SessionContext,
  opened: LiveSession,
  message: JsonRpcRequest,
  request: OutgoingRequest,
): Promise<Response> {
  const { id, method } = message;
  const response = await sendOn(context, undefined, request, method);
  if (isAuthOrOutage(response)) unsure.add(opened);
  if (!response.ok) letGo(response);
  const answer = response.ok ? await readAnswer(response, id) : undefined;
  const versions = answer?.result?.["supportedVersions"];
  if (!Array.isArray(versions) || !versions.includes(revisionIn(message)))
    return methodNotFoundAnswer(id);
  enterStateless(context.state, context.url, context.now());
  context.emit({ type: "stateless" });
  return Response.json(answer);
}

/** Answers from the session's `initialize`. */
export async function answerInitialize(
  context: SessionContext,
  { id, method, params }: JsonRpcRequest,
  request: OutgoingRequest,
): Promise<Response> {
  const { state, url } = context;
  const description = toClientParams(params);
  setClientParams(state, description);
  const { snapshot, isClientTold } = state;
  const version = initializeResultOf(snapshot)?.protocolVersion;
  // An older client could not speak the saved session's revision, and would always refuse the result. If
  // another client uses the session, it stays.
  if (version && !isClientTold && description.protocolVersion < version) {
    discard(context, "protocol-version");
    // Nobody else knows the session any more.
    if (snapshot?.kind === "session") void endLost(context, snapshot, request);
  }
  announceResumption(context);
  const current = liveSession(state) ?? openedSession(state);
  if (current !== undefined) {
    noteClientTold(state);
    return resultAnswer(id, current.initializeResult);
  }
  const opening = await ensureOpened(context, request);
  if ("opened" in opening) return resultAnswer(id, opening.opened.initializeResult);
  if (opening.stateless) throw eraUnsupported({ method, url });
  // After this answer, a client would fall back to HTTP+SSE.
  const hadSession = lostSession(state) ?? liveSession(state);
  if (hadSession !== undefined && !isAuthOrOutage(opening.refused)) {
    throw sessionRefused(state, { method, url, status: opening.refused.status });
  }
  return toResponseFor(id, opening.refused);
}

/** Answers 202 once the session is acknowledged and saved. */
export async function answerInitialized(
  context: SessionContext,
  request: OutgoingRequest,
): Promise<Response> {
  const { state, url } = context;
  announceResumption(context);
  const ensured = await ensureSession(context, request);
  if ("live" in ensured) return emptyAnswer(202);
  if (isAuthOrOutage(ensured.refused)) return toResponse(ensured.refused);
  const { status } = ensured.refused;
  throw sessionRefused(state, { method: "notifications/initialized", url, status }, ensured.isMade);
}
