import { askedBy } from "./answer/server-requests.ts";
import type { Pipeline, SessionContext } from "./session/session-context.ts";
import type { SessionEvent } from "./session/session-event.ts";
import type { SecondSession } from "./session/session-fetch-options.ts";
import { isCurrent, setClientParams } from "./session/session-life.ts";
import { isRequest, type JsonRpcMessage, paramsOf } from "./wire/json-rpc.ts";

/** Of the second session only the trouble is reported, because nobody knows it. */
const reported = [
  ...["lost", "restored", "ids-vary", "recovered", "start-failed"],
  ...["list-cut", "notification"],
];

/** The session of the requests that `except` matches. */
export function openSecondSession(
  { state, fork, questions, onEvent }: SessionContext,
  { slot, matches }: SecondSession,
) {
  const emit =
    onEvent && ((event: SessionEvent) => reported.includes(event.type) && onEvent(event));
  const second = fork({ slot, onEvent: emit }, questions);
  const own = second.context;
  return {
    /** Whether a message goes to the second session. */
    takes: (message: JsonRpcMessage) =>
      isRequest(message) ? matches(message) : owns(own, message),
    answer(...[request, message]: Parameters<Pipeline["answer"]>) {
      if (own.state.clientParams === undefined) setClientParams(own.state, state.clientParams);
      return second.answer(request, message);
    },
  };
}

/** Whether a client's answer or notification belongs to this session. */
function owns(context: SessionContext, message: JsonRpcMessage): boolean {
  if (!("method" in message)) {
    const asking = askedBy(context, message);
    return asking !== undefined && isCurrent(context.state, asking);
  }
  const isCancellation = message.method === "notifications/cancelled";
  return (
    isCancellation && context.ids.findByClientId(paramsOf(message)?.["requestId"]) !== undefined
  );
}
