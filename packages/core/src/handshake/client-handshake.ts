import { isAuthOrOutage, toResponse, toResponseFor } from "../session/buffered-answer.ts";
import { eraUnsupported, sessionLost, sessionRefused } from "../session/session-errors.ts";
import {
  discardSnapshot,
  liveSession,
  lostSession,
  noteClientTold,
  openedSession,
  setClientParams,
} from "../session/session-life.ts";
import { announceResumption, type SessionContext } from "../session/session-context.ts";
import type { JsonRpcRequest } from "../wire/json-rpc.ts";
import { emptyAnswer, methodNotFoundAnswer, resultAnswer } from "../wire/local-answer.ts";
import type { OutgoingRequest } from "../wire/outgoing-request.ts";
import { paramsOfInitialize, paramsOfProbe } from "./initialize-answer.ts";
import type { Handshake } from "./handshake.ts";

/**
 * Answers a client's handshake. If there is a session, nothing reaches the network. Otherwise the first
 * message of the client makes the fetch open a session.
 */
interface ClientHandshake {
  /** Answers like a server of the session era; `undefined` if the server itself should see the probe. */
  probe(message: JsonRpcRequest, request: OutgoingRequest): Promise<Response | undefined>;
  /** Answers from the session's `initialize`. */
  initialize(message: JsonRpcRequest, request: OutgoingRequest): Promise<Response>;
  /** Answers 202 once the session is acknowledged and saved. */
  initialized(request: OutgoingRequest): Promise<Response>;
}

export function createClientHandshake(
  context: SessionContext & { readonly handshake: Handshake },
): ClientHandshake {
  const { state, url, handshake } = context;
  return {
    async probe({ id, params }, request) {
      setClientParams(state, paramsOfProbe(params?.["_meta"]));
      announceResumption(context);
      if (liveSession(state) ?? openedSession(state)) return methodNotFoundAnswer(id);
      const opening = await handshake.open(request, request.signal);
      if ("opened" in opening) return methodNotFoundAnswer(id);
      // A refused login or an outage tells nothing about the server's revisions. Other refusals may.
      return isAuthOrOutage(opening.refused) ? toResponseFor(id, opening.refused) : undefined;
    },

    async initialize({ id, params }, request) {
      setClientParams(state, paramsOfInitialize(params));
      discardNewerSnapshot(context);
      announceResumption(context);
      const current = liveSession(state) ?? openedSession(state);
      if (current !== undefined) {
        noteClientTold(state);
        return resultAnswer(id, current.initializeResult);
      }
      const opening = await handshake.open(request, request.signal);
      if ("opened" in opening) return resultAnswer(id, opening.opened.initializeResult);
      if (opening.stateless) throw eraUnsupported(url);
      // After this answer, a client would fall back to HTTP+SSE.
      if (lostSession(state) !== undefined && !isAuthOrOutage(opening.refused)) {
        throw sessionLost("initialize", url, opening.refused.status);
      }
      return toResponseFor(id, opening.refused);
    },

    async initialized(request) {
      announceResumption(context);
      const ensured = await handshake.ensure(request, request.signal);
      if ("live" in ensured) return emptyAnswer(202);
      if (isAuthOrOutage(ensured.refused)) return toResponse(ensured.refused);
      throw sessionRefused(state, "notifications/initialized", url, ensured.refused.status);
    },
  };
}

/**
 * Gives the saved session up for an older client, which could not speak its revision and would always
 * refuse the result. If another client uses the session, it stays.
 */
function discardNewerSnapshot({ state, emit }: SessionContext): void {
  const { snapshot, clientParams } = state;
  if (snapshot?.kind !== "session" || clientParams === undefined || state.isClientTold) return;
  if (clientParams.protocolVersion >= snapshot.initializeResult.protocolVersion) return;
  discardSnapshot(state);
  emit({ type: "discarded", reason: "protocol-version" });
}
