import { createQueue } from "../base/queue.ts";
import { endUnanswered } from "../asked/asked-calls.ts";
import type { LiveContext } from "../context/handler-context.ts";
import { streamHeaders } from "../streams/event-stream-answer.ts";
import { jsonCall } from "./json-call.ts";
import type { PostCall, PostCallOptions } from "./posted-call.ts";
import { forgottenAnswer, repeatedAnswer } from "./repeated-posts.ts";
import { ask } from "./stored-asking.ts";
import { answer, beginCall, forgetQuestion, related, release } from "./streamed-call.ts";

/** Answers a POST with one JSON body, or with an SSE stream whose messages are stored. */
export function createPostCall(context: LiveContext, options: PostCallOptions): PostCall {
  const call =
    context.format === "json" ? jsonCall(context, options) : streamedCall(context, options);
  const inTurn = createQueue();
  return {
    ...call,
    change: context.stored.record.changes,
    // The last of several answers ends the stream: it must not overtake another.
    answer: options.isBatch ? (...args) => inTurn(() => call.answer(...args)) : call.answer,
  };
}

function streamedCall(context: LiveContext, options: PostCallOptions): Omit<PostCall, "change"> {
  const { stored, sessionId, replica, settings } = context;
  const { requests, isBatch, claimed } = options;
  const call = beginCall(context, options);
  const { open, name, stream } = call;
  return {
    reply: { status: 200, headers: streamHeaders(sessionId), body: stream.body },
    related: (message) => related(call, message),
    hold: async () => {
      if (!(await name.eventIds()))
        throw new Error("The store could not be asked. Send the request again.");
      const { renewals } = name.get();
      return { replica: replica.token, name: name.key, renewals, place: call.last + 1 };
    },
    rounds: async () => {
      if (claimed) return claimed.record.round;
      const canKeep =
        !isBatch && settings.events.maxEvents > 0 && (await name.eventIds()) !== undefined;
      return canKeep ? 0 : undefined;
    },
    ask: (...asking) => ask(call, ...asking),
    answer: (...answering) => answer(call, ...answering),
    cancel: (requestId) => {
      if (!open.delete(requestId) || open.size > 0) return;
      if (claimed) {
        const keys = forgetQuestion(call).map((row) => row.key);
        void endUnanswered(context, stored, name.key, keys).catch(() => {});
      }
      release(call);
      stream.end();
    },
    hangUp: () => stream.end(),
    repeat: async (onEnd) => {
      call.isBegun = true;
      if ((await name.eventIds()) && (open.size > 0 || call.isStored)) {
        return repeatedAnswer(context, name.get(), onEnd);
      }
      onEnd();
      return forgottenAnswer(context, requests[0]!.id);
    },
  };
}
