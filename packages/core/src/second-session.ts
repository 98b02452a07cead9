import { askedBy } from "./answer/server-requests.ts";
import { checkedLater, checkFunction, checkOptions } from "./base/check-option.ts";
import type { FeatureOf, SessionContext } from "./session/session-context.ts";
import type { SessionEvent } from "./session/session-event.ts";
import type { SessionFeature } from "./session/session-fetch-options.ts";
import { isCurrent, setClientParams } from "./session/session-life.ts";
import { type SessionSlot, slotState } from "./session/session-slot.ts";
import { isRequest, type JsonRpcMessage, type JsonRpcRequest, paramsOf } from "./wire/json-rpc.ts";

/** Options of `createSecondSession`. */
export interface SecondSessionOptions {
  /** Holds the second session. Do not save it, and end its session with `endSession`. */
  readonly slot: SessionSlot;
  /** Whether a request goes to the second session. */
  readonly matches: (request: JsonRpcRequest) => boolean;
}

/** Of the second session only the trouble is reported, because nobody knows it. */
const reported = ["lost", "restored", "ids-vary", "recovered", "start-failed", "notification"];

/**
 * For `createSessionFetch({ except })`: requests for which `matches` is true go to a second session.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the option
 */
export function createSecondSession(
  options: SecondSessionOptions,
): SessionFeature<"SecondSession"> {
  checkOptions(options, { slot: checkedLater, matches: checkFunction });
  const { slot, matches } = options;
  slotState(slot);
  checkFunction(matches ?? null, "matches");
  const except: FeatureOf<"except", "SecondSession"> = {
    feature: "SecondSession",
    open({ state, fork, questions, onEvent }) {
      const emit =
        onEvent && ((event: SessionEvent) => reported.includes(event.type) && onEvent(event));
      const second = fork({ slot, onEvent: emit }, questions);
      const own = second.context;
      return {
        takes: (message) => (isRequest(message) ? matches(message) : owns(own, message)),
        answer(request, message) {
          if (own.state.clientParams === undefined) setClientParams(own.state, state.clientParams);
          return second.answer(request, message);
        },
      };
    },
  };
  return except;
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
