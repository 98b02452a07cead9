import { noteProof, refusesInside } from "../session/buffered-answer.ts";
import { lose, type SessionContext } from "../session/session-context.ts";
import { saysUnknown } from "../session/lost-session.ts";
import { lostOnServer } from "../session/session-errors.ts";
import { isCurrent } from "../session/session-life.ts";
import { deliverFailure, isDelivered } from "../session/session-slot.ts";
import { observeStandingRequests } from "../session/standing-requests.ts";
import { withoutTask } from "../session/task-answer.ts";
import type { LiveSession } from "../session/slot-state.ts";
import { boundPage } from "../tools/list-pages.ts";
import { observeTools } from "../tools/tool-list.ts";
import {
  isRequest,
  isUsable,
  type JsonRpcMessage,
  type JsonRpcNotification,
  type JsonRpcRequest,
  type JsonRpcResponse,
  UnusableAnswer,
} from "../wire/json-rpc.ts";
import { type PendingRequest, type RequestIds, restoreProgress } from "../wire/request-ids.ts";
import { scrubError, scrubFailure, scrubStrings } from "../wire/scrub-session-id.ts";
import { receiveMessage } from "./server-requests.ts";

/** Reads the messages of a session for the fetch, and gives their form for the client: the same object, if nothing is ours. */
export function createReader(
  context: SessionContext,
  session: () => LiveSession,
  namedId: string | null,
) {
  const { state, ids, emit, onEvent, url } = context;
  /** The ids of the session and of the one that the answer named, which may be another. */
  const secrets = (): string[] => {
    const from = session();
    const sessionIds = [namedId, from.kind === "session" ? from.sessionId : null];
    return [...new Set(sessionIds)].filter((id) => id !== null && id !== "") as string[];
  };
  const observe = (message: JsonRpcMessage, answered?: PendingRequest) => {
    ids.observeTasks(message, answered);
    const from = session();
    // A lost session's news about tools does not concern its successor.
    if (!isCurrent(state, from)) return false;
    // The client gets the error. The next request makes the handshake again.
    if (refusesInside(from, message)) lose(context, from, answered?.request.method ?? "", 200);
    if (answered !== undefined && from.kind === "session") noteProof(from, message);
    const isInSlot = observeTools(context, message, answered?.request);
    if (answered !== undefined && !("method" in message)) {
      observeStandingRequests(state, message, answered.request);
    }
    return isInSlot;
  };
  const readOwn = (message: JsonRpcResponse, pending: PendingRequest): JsonRpcResponse => {
    if (!isUsable(message)) throw new UnusableAnswer();
    const { request } = pending;
    const answer = withoutTask(context, boundPage(context, message, request), request);
    if (observe(answer, pending)) return answer;
    if (answer.result !== undefined) {
      if (answer.result["isError"] !== true) return answer;
      const result = secrets().reduce(scrubFailure, answer.result);
      return result === answer.result ? answer : { ...answer, result };
    }
    if (answer.error === undefined) return answer;
    const { id, method } = request;
    // Unlike any other code of ours this one claims nothing, so a server may say it.
    if (saysUnknown(answer.error) && !isDelivered(state, answer.error)) {
      return JSON.parse(deliverFailure(state, id, lostOnServer({ method, url })));
    }
    return { ...answer, error: secrets().reduce(scrubError, answer.error) };
  };
  return {
    /** An answer, with all but its id as the client gets it. */
    readAnswer(message: JsonRpcResponse, pending: PendingRequest): JsonRpcResponse {
      const read = readOwn(message, pending);
      return context.lasting?.answer(read, pending.request) ?? read;
    },
    /** A request or a notification of the server. */
    readOther(message: JsonRpcRequest | JsonRpcNotification, find: RequestIds["find"]) {
      observe(message);
      const progress = restoreProgress(message, { ...ids, find });
      const forClient = progress ?? receiveMessage(context, message, session());
      // Without a listener, notifications need no event.
      if (onEvent === undefined || isRequest(forClient) || !("method" in forClient))
        return forClient;
      const said = { method: forClient.method, params: forClient.params };
      const scrubbed = secrets().reduce<unknown>(scrubStrings, said);
      emit({ type: "notification", ...(scrubbed as typeof said) });
      return forClient;
    },
  };
}
