import { McpSessionError } from "../../base/mcp-session-error.ts";
import { isRecord } from "../../base/json-values.ts";
import { type JsonRpcId, type JsonRpcResponse, parseMessage } from "../../wire/json-rpc.ts";
import { editAnswer } from "../../wire/read-answer.ts";
import { completeResult, type LegOutcome, openOutcome } from "./send-leg.ts";
import { withoutMarks } from "../record/waiting-call.ts";
import type { WaitingAnswer } from "../record/waiting-record.ts";

/** What becomes of a server's answer to a call. */
export interface TakeAnswer {
  /** Gives what the client gets in the place of the answer. */
  readonly take: (outcome: LegOutcome) => Promise<WaitingAnswer>;
  /** Runs when the answer has come. */
  readonly stop?: (() => void) | undefined;
  /** Whether complete answers are taken, too. */
  readonly isKept?: boolean | undefined;
  /** Whether the call may wait for a person. */
  readonly isAsked: boolean;
  /** Gets an error of which the client only gets the words. */
  readonly fail?: ((error: unknown) => void) | undefined;
}

/**
 * The server's answer to one request, with what `take` gives in the place of questions and tasks. A result that does
 * not say that it is complete says so then. Without `take` they are the client's. No result of a server says that a
 * call waits; all else passes as it comes.
 */
export function answerWithPlaceholder(
  response: Response,
  id: JsonRpcId,
  taking?: TakeAnswer,
): Response {
  return editAnswer(response, async (text) => {
    const message = parseMessage(text);
    if (message === undefined || "method" in message || message.id !== id) return text;
    taking?.stop?.();
    const { result } = message;
    const own = withoutMarks(result);
    const isUntyped = taking !== undefined && own?.["resultType"] === undefined;
    const whole = (isUntyped && completeResult(own)) || own;
    const outcome =
      taking &&
      (openOutcome(message, taking.isAsked) ?? (taking.isKept && complete(message, whole)));
    if (outcome) return await textFor(id, () => taking.take(outcome), taking.fail);
    return whole === result ? text : print(id, { result: whole });
  });
}

/** What a server's answer says of a call that is over. */
export function complete({ error }: JsonRpcResponse, result: unknown): LegOutcome | undefined {
  if (error !== undefined) return { type: "settles", answer: { error } };
  return isRecord(result) ? { type: "settles", answer: { result } } : undefined;
}

/** The text of what a client gets for a call. */
export async function textFor(
  id: JsonRpcId,
  take: () => Promise<WaitingAnswer>,
  fail: TakeAnswer["fail"],
): Promise<string> {
  try {
    return print(id, await take());
  } catch (error) {
    fail?.(error);
    return print(id, { error: asRpcError(error) });
  }
}

const print = (id: JsonRpcId, answer: object) => JSON.stringify({ jsonrpc: "2.0", id, ...answer });

/** After response headers a failure is an answer, with our code in its data. */
function asRpcError(error: unknown) {
  const isOurs = McpSessionError.isInstance(error);
  const { message } = isOurs ? error : { message: "What the call waits for could not be kept." };
  return { code: -32_603, message, data: isOurs ? { code: error.code } : {} };
}
