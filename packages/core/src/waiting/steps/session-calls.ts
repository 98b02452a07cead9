/** The calls of a client with a session. What it leaves goes on at the server, where any process finds it. */

import {
  emptyAnswer,
  type JsonRpcRequest,
  methodOf,
  paramsOf,
  parseMessage,
} from "../../wire/json-rpc.ts";
import { isEventStream, letGo } from "../../wire/read-answer.ts";
import { bodyText, type OutgoingRequest } from "../../wire/server-endpoint.ts";
import { answerWithPlaceholder } from "../legs/answer-edits.ts";
import type { CallInStep } from "./call-in-step.ts";
import {
  answerTo,
  type CallUnderWay,
  endCall,
  inEvent,
  inPlaceOfRest,
  leaveOnCancel,
  type SentCall,
  startCall,
  watch,
} from "./call-under-way.ts";
import { isFor, type WaitingContext } from "../claims/waiting-context.ts";

/** Names a session, or a request on it. */
const nameOf = ({ headers }: Pick<OutgoingRequest, "headers">, id: unknown = null) =>
  JSON.stringify([headers.get("mcp-session-id"), id]);

export function createSessionCalls(context: WaitingContext) {
  /** Those whose clients have no answer yet. */
  const calls = new Set<CallUnderWay>();
  /** The sessions of calls that go on without their client, and these calls, which it may not end. */
  const left = new Set<string>();
  /** The requests that the server was told to stop, perhaps before it got them. */
  const cancelled = new Set<string>();
  return {
    /** What a client says of calls that go on without it, and must not reach the server. */
    withhold(request: OutgoingRequest): Response | undefined {
      if (request.method === "DELETE")
        return left.has(nameOf(request)) ? emptyAnswer(204) : undefined;
      const message = parseMessage(bodyText(request) ?? "");
      if (message === undefined || methodOf(message) !== "notifications/cancelled")
        return undefined;
      const name = nameOf(request, paramsOf(message)?.["requestId"]);
      const each = [...calls].find(
        (one) => one.state !== "untold" && nameOf(one.request, one.message.id) === name,
      );
      if (left.has(name) || (each && leaveOnCancel(each))) return emptyAnswer(202);
      cancelled.add(name);
      return undefined;
    },
    /** Sends what is no request: it may resume the stream of a call. */
    async resume(request: OutgoingRequest, send: () => Promise<Response>): Promise<Response> {
      const eventId = request.method === "GET" && request.headers.get("last-event-id");
      const each = [...calls].find((one) => one.eventId !== "" && one.eventId === eventId);
      const text = await (each && inPlaceOfRest(each));
      if (text !== undefined) return inStream(text);
      const response = await send();
      if (each === undefined || !isEventStream(response)) return response;
      if (each.taking === undefined) return watch(each, response);
      letGo(response);
      return inStream(await each.taking);
    },
    /** Sends a call, and waits for its answer as long as the step does. */
    async call(
      call: CallInStep,
      message: JsonRpcRequest,
      request: OutgoingRequest,
      { send, ...how }: Pick<SentCall, "fail" | "leaveTask"> & { send: () => Promise<Response> },
    ): Promise<Response> {
      const { id } = message;
      const each: CallUnderWay = startCall(context, {
        ...{ call, message, request, ...how },
        isCancelled: () => cancelled.has(nameOf(request, id)),
        onLeft: () => left.add(nameOf(request, id)).add(nameOf(request)),
        onOver: () => calls.delete(each),
      });
      calls.add(each);
      try {
        const response = await call.sent(send());
        if (isEventStream(response)) return watch(each, response);
        if (!response.ok) endCall(each);
        return answerWithPlaceholder(response, id, {
          stop: () => endCall(each),
          take: async (outcome) => {
            calls.add(each);
            return await answerTo(each, outcome).finally(() => endCall(each));
          },
          ...{ isKept: call.isRecorded, isAsked: isFor(context, "question"), fail: how.fail },
        });
      } catch (error) {
        endCall(each);
        throw error;
      }
    },
  };
}

const inStream = (text: string) =>
  new Response(inEvent(text), { headers: { "content-type": "text/event-stream" } });
