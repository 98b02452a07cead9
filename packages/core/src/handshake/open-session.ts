import { abortable, noAnswer, timeLimited } from "../base/bounded-wait.ts";
import { isPrintable, isRecord } from "../base/json-values.ts";
import { bufferAnswer } from "../session/buffered-answer.ts";
import type { BufferedAnswer } from "../session/lost-session.ts";
import {
  type BoundedRequest,
  lose,
  type SessionContext,
  sendOwn,
} from "../session/session-context.ts";
import { namedSession } from "../session/session-headers.ts";
import {
  connectionBroke,
  handshakeTimedOut,
  initializeUnusable,
  sessionLost,
} from "../session/session-errors.ts";
import {
  enterOpened,
  enterStateless,
  liveSession,
  lostSession,
  openedSession,
  restoreLost,
} from "../session/session-life.ts";
import type { ClientParams, LiveSession, NamedSession, Opening } from "../session/slot-state.ts";
import {
  asInitializeResult,
  isKeepable,
  LATEST_SESSION_VERSION,
} from "../session/session-snapshot.ts";
import { FIRST_STATELESS_VERSION, isSessionId } from "../session/snapshot-shape.ts";
import { type JsonRpcResponse, parseMessage } from "../wire/json-rpc.ts";
import { readAnswer } from "../wire/read-answer.ts";
import { endUnused } from "./end-session.ts";

/** Asks once more about a session in doubt, and gives it up if it is lost. */
export type GiveUp = (request: BoundedRequest) => Promise<void>;

/**
 * Sends `initialize`, without an id, with the client's own description. A session in use, whose version was refused,
 * is given up only if this answer has another version or none: the refusal may be of one replica among others.
 *
 * @throws {McpSessionError} `SESSION_LOST` if a lost session must not be replaced,
 *   `CONNECTION_UNAVAILABLE` without an answer in time, and for a session that cannot be kept
 */
export async function openSession(
  context: SessionContext,
  request: BoundedRequest,
  giveUp?: GiveUp,
): Promise<Opening> {
  const { state, url, ids } = context;
  const method = "initialize";
  const lost = lostSession(state);
  if (context.recovery.onLoss === "report" && lost !== undefined)
    throw sessionLost({ method, url });
  const id = ids.next();
  const inDoubt = giveUp && liveSession(state);
  const params = describeClient(state, inDoubt?.kind === "session" ? inDoubt : lost);
  return await inTime(context, method, request, async (bounded) => {
    const response = await sendOwn(context, undefined, { id, method, params }, bounded);
    if (!response.ok) {
      const refused = await bufferAnswer(response);
      const message = parseMessage(refused.body);
      // What is not of MCP stands before the server, so nothing is known about the session.
      const isOfGateway = refused.status === 404 && message === undefined;
      if (isOfGateway && restoreLost(state, context.now())) context.emit({ type: "restored" });
      return toRefusal(context, refused, message);
    }
    return await readOpening(context, response, { id, params }, bounded, giveUp);
  });
}

/** What a 2xx answer to `initialize` opens. If it names a session that cannot be used, that is ended. */
async function readOpening(
  context: SessionContext,
  response: Response,
  { id, params }: { id: string; params: ClientParams },
  request: BoundedRequest,
  giveUp: GiveUp | undefined,
): Promise<Opening> {
  const sessionId = namedSession(response);
  let opened: LiveSession | undefined;
  try {
    // Some fetches ignore the signal, and a late answer must not replace a newer session.
    const answer = await abortable(readAnswer(response, id), request.signal);
    if (!isPrintable(answer?.result ?? answer?.error)) {
      const { status } = response;
      const unprintable = "JSON that is nested deeper than the stack";
      throw initializeUnusable({ method: "initialize", url: context.url, status }, unprintable);
    }
    const result = asInitializeResult(answer?.result);
    // Sessions of clients are their own, and no client would know this one.
    const isForeign = context.session === "stateless" && sessionId !== undefined;
    if (result === undefined || isForeign)
      return toRefusal(context, unusable(isForeign ? undefined : answer, id), answer);
    const { state, recovery, url } = context;
    const made = toLiveSession(url, response.status, sessionId, result, params);
    const live = liveSession(state);
    await giveUp?.(request);
    request.signal.throwIfAborted();
    const isOther = live?.initializeResult.protocolVersion !== result.protocolVersion;
    if (live && !giveUp && isOther) lose(context, live, "initialize", response.status);
    const kept = liveSession(state) ?? openedSession(state) ?? (giveUp ? undefined : live);
    if (kept !== undefined) return { opened: kept };
    if (recovery.onLoss === "report" && lostSession(state) !== undefined)
      throw sessionLost({ method: "initialize", url });
    opened = made;
    enterOpened(state, opened);
    return { opened };
  } finally {
    const isUnused = opened === undefined && isSessionId(sessionId);
    if (isUnused) endUnused(context, { kind: "session", sessionId }, request);
  }
}

/**
 * The client's part of `initialize`. A session in place of a lost one has the capabilities of the lost
 * one, whichever client asks for it. Clients that resume by themselves give no description.
 */
function describeClient(
  { clientParams }: SessionContext["state"],
  lost: NamedSession | undefined,
): ClientParams {
  if (lost === undefined) return clientParams ?? toClientParams();
  const { clientCapabilities: capabilities, clientInfo } = lost;
  const { protocolVersion } = lost.initializeResult;
  return clientParams
    ? { ...clientParams, capabilities }
    : toClientParams({ protocolVersion, capabilities, clientInfo });
}

/** Makes a request of the handshake with a time limit, even if no caller has a signal. */
export async function inTime<T>(
  { url, initializeMs }: SessionContext,
  method: string,
  request: BoundedRequest,
  exchange: (bounded: BoundedRequest) => Promise<T>,
): Promise<T> {
  const late = noAnswer(initializeMs);
  // Some fetches ignore the signal.
  const bounded = (signal: AbortSignal) => abortable(exchange({ ...request, signal }), signal);
  try {
    return await timeLimited(initializeMs, request.signal, bounded, late);
  } catch (cause) {
    if (request.signal.aborted) throw cause;
    const failed = { method, url, cause };
    throw cause === late ? handshakeTimedOut(failed, initializeMs) : connectionBroke(failed);
  }
}

/** The session that a successful answer opens, unless it cannot be kept. */
function toLiveSession(
  url: URL,
  status: number,
  sessionId: string | undefined,
  initializeResult: LiveSession["initializeResult"],
  { capabilities: clientCapabilities, clientInfo }: ClientParams,
): LiveSession {
  if (sessionId === undefined) return { kind: "sessionless", initializeResult };
  const client = { clientCapabilities, ...(clientInfo !== ownInfo && { clientInfo }) };
  const session = { kind: "session", sessionId, initializeResult, ...client } as const;
  const isValidId = isSessionId(sessionId);
  if (isValidId && isKeepable({ version: 1, url: url.href, ...session })) return session;
  const what = isValidId
    ? "more than 900,000 characters or 64 levels of JSON, which cannot be kept"
    : "a session id that is not 1 to 1024 visible ASCII characters";
  throw initializeUnusable({ method: "initialize", url, status }, what);
}

/** Remembers a server that only speaks revisions without sessions. */
function toRefusal(
  context: SessionContext,
  refused: BufferedAnswer,
  message: object | undefined,
): Opening {
  const { state, url, emit, now } = context;
  const stateless = speaksOnlyStatelessVersions(message);
  if (stateless) {
    const { phase } = state;
    if (phase.name === "live") lose(context, phase.session, "initialize", refused.status);
    if (state.phase.name !== "stateless") emit({ type: "stateless" });
    enterStateless(state, url, now());
  }
  return { refused, stateless };
}

const unsupportedProtocolVersion = -32022;

/**
 * Whether a refusal of `initialize` means that the server has no revision with sessions.
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning
 */
function speaksOnlyStatelessVersions(message: object | undefined): boolean {
  const error = (message as JsonRpcResponse | undefined)?.error;
  if (!isRecord(error) || error["code"] !== unsupportedProtocolVersion) return false;
  const supported = isRecord(error["data"]) ? error["data"]["supported"] : undefined;
  return (
    !Array.isArray(supported) ||
    supported.every((version) => typeof version === "string" && version >= FIRST_STATELESS_VERSION)
  );
}

/** The client's answer if the server sent none, or one that is not a result of `initialize`. */
function unusable(answer: JsonRpcResponse | undefined, id: string): BufferedAnswer {
  const headers = new Headers({ "content-type": "application/json" });
  const error = { code: -32000, message: "The server sent no usable answer to initialize." };
  const body = JSON.stringify(answer ?? { jsonrpc: "2.0", id, error });
  return { status: 200, headers, body, loss: "none" };
}

/** Of a handshake of which no client has said who it is. */
const ownInfo = { name: "durable-mcp", version: "1" };

/** A client's own description, from its `initialize` or in the same form. */
export function toClientParams(params: Record<string, unknown> = {}): ClientParams {
  const { protocolVersion, capabilities, clientInfo } = params;
  return {
    protocolVersion: typeof protocolVersion === "string" ? protocolVersion : LATEST_SESSION_VERSION,
    capabilities: isRecord(capabilities) ? capabilities : {},
    clientInfo: isRecord(clientInfo) ? clientInfo : ownInfo,
  };
}
