import { createMessageExtra } from "../author/message-extra.ts";
import type { ServerLink } from "../author/server-link.ts";
import { isRequest } from "../base/json-rpc.ts";
import type { Reply } from "../base/reply.ts";
import type { ClientPost } from "../calls/posted-call.ts";
import { createRepeatedPosts } from "../calls/repeated-posts.ts";
import type { SessionCalls } from "../calls/session-calls.ts";
import type { LiveContext } from "../context/handler-context.ts";
import type { SessionStates } from "../context/session-state.ts";
import { canPrime } from "../streams/priming.ts";
import type { ToldSettings } from "./told-settings.ts";

interface TakePostOptions {
  readonly calls: SessionCalls;
  readonly told: ToldSettings;
  readonly states: Pick<SessionStates<object>, "begin">;
  readonly link: ServerLink;
  readonly hangUpListening: () => void;
}

/** Hands the messages of a POST to the server. @returns its answer; `undefined` when it cannot be taken */
export function createTakePost(
  context: LiveContext,
  { calls, told, states, link, hangUpListening }: TakePostOptions,
) {
  const repeats = createRepeatedPosts(context);
  const { protocolVersion } = context.stored.record.initialize;
  const canHangUp = context.format === "sse" && canPrime(protocolVersion);

  return async (given: ClientPost): Promise<Reply | undefined> => {
    const { request, messages, requests, isBatch, authInfo, admission } = given;
    const arrival = repeats.arrive(requests, given.text);
    if (arrival?.earlier && (await arrival.own.digest) === (await arrival.earlier.digest)) {
      return await repeats.replyOf(arrival.earlier);
    }
    const remembering = told.rememberInitialized(messages);
    if (remembering) await remembering;
    const beginning = states.begin(requests);
    const requestStates = beginning instanceof Promise ? await beginning : beginning;
    // A closed server takes no message, and says nothing.
    if (context.closed.aborted) return undefined;
    const begun = { requests, isBatch, states: requestStates };
    const call = requests.length > 0 ? calls.begin(begun) : undefined;
    if (requests.length > 0 && !call) return undefined;
    if (arrival) arrival.own.call = call;
    admission.begin(requests.length);
    const hangUp = call && canHangUp ? call.hangUp : undefined;
    for (const message of messages) {
      const refusal = isRequest(message) ? calls.of(message.id)?.state.refusal : undefined;
      if (refusal) {
        void calls.answer(refusal.id!, refusal);
        continue;
      }
      const ends = isRequest(message) ? { hangUp, hangUpListening } : {};
      link.receive(message, createMessageExtra(request, authInfo, ends));
    }
    return call ? await call.reply : { status: 202, headers: {} };
  };
}
