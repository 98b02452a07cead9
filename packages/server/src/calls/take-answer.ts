import { outcomeUnknown } from "../base/json-rpc.ts";
import type {
  Answer,
  AuthInfo,
  JSONRPCMessage,
  JSONRPCRequest,
  MessageExtra,
} from "../base/mcp-types.ts";
import { createQueue } from "../base/queue.ts";
import type { ServedRequest } from "../base/served-request.ts";
import type { ClaimedCall } from "../records/stored-question.ts";
import type { LiveContext } from "../context/handler-context.ts";
import { createMessageExtra } from "../author/message-extra.ts";
import type { CheckContent } from "../asked/legacy-shim.ts";
import { failedQuestion, type QuestionName } from "../asked/question-ids.ts";
import type { RequestState } from "../context/request-state.ts";
import type { SessionCalls } from "./session-calls.ts";
import { failure } from "./settle-call.ts";

/** Takes an answer to a question of a stored call, and makes the call again if it is the last one. */
export type TakeAnswer = (name: QuestionName, message: Answer, post: AnswerPost) => Promise<void>;

/** The POST that brought the last answer. */
interface AnswerPost {
  readonly request: ServedRequest;
  readonly authInfo: AuthInfo | undefined;
}

interface RepeatOptions {
  /** Of the author's server. */
  readonly check: () => CheckContent | undefined;
  readonly calls: SessionCalls;
  readonly begin: (requests: readonly JSONRPCRequest[]) => RequestState[] | Promise<RequestState[]>;
  readonly receive: (message: JSONRPCMessage, extra: MessageExtra) => void;
}

/**
 * Takes answers of the client, and makes a claimed call again in this live session, with all of them, as
 * SDK v2 repeats its requests.
 */
export function createTakeAnswer(
  context: LiveContext,
  { calls, begin, receive, check }: RepeatOptions,
): TakeAnswer {
  const inTurn = createQueue();

  async function repeat(claimed: ClaimedCall, { request, authInfo }: AnswerPost): Promise<void> {
    const { requestId: id, method, params, requestState, questions } = claimed.record;
    const inputResponses = Object.fromEntries(questions.map(({ key, answer }) => [key, answer]));
    const again: JSONRPCRequest = {
      ...{ jsonrpc: "2.0", id, method },
      params: { ...params, inputResponses, ...(requestState !== undefined && { requestState }) },
    };
    let state: RequestState = {};
    let unmade: Answer | undefined;
    if (claimed.failure !== undefined) {
      unmade = failedQuestion(again, claimed.failure);
    } else {
      try {
        [state = {}] = await begin([again]);
        unmade = state.refusal;
      } catch (error) {
        unmade = failure(id, error);
      }
    }
    // A closed server takes no message, and says nothing.
    if (context.closed.aborted) unmade ??= outcomeUnknown(id);
    if (!calls.repeat(claimed, again, state)) return;
    if (unmade) await calls.answer(id, unmade);
    else receive(again, createMessageExtra(request, authInfo, {}));
  }

  return async (name, message, post) => {
    const answer = () => context.asked.answer(context.stored, name, message, check());
    const claimed = await inTurn(answer);
    if (claimed) await repeat(claimed, post);
  };
}
