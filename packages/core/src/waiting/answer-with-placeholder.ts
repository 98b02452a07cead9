import { McpSessionError } from "../base/mcp-session-error.ts";
import { type JsonRpcId, parseMessage } from "../wire/json-rpc.ts";
import { editAnswer } from "../wire/read-answer.ts";
import { completeResult, questionOf } from "./question.ts";
import { withoutMarks } from "./waiting-call.ts";
import type { Question } from "./waiting-life.ts";
import type { WaitingAnswer } from "./waiting-record.ts";

/** Keeps a question. Gives what the client is to get instead. */
type TakeQuestion = (question: Question) => Promise<WaitingAnswer>;

/**
 * The server's answer to one request, with what `take` gives in the place of questions. A result that does not
 * say that it is complete says so then. Without `take` questions are the client's. No result of a server says that a
 * call waits; all else passes as it comes.
 */
export function answerWithPlaceholder(
  response: Response,
  id: JsonRpcId,
  take?: TakeQuestion,
): Response {
  return editAnswer(response, (text) => replaced(text, id, take));
}

async function replaced(
  text: string,
  id: JsonRpcId,
  take: TakeQuestion | undefined,
): Promise<string> {
  const message = parseMessage(text);
  if (message === undefined || "method" in message || message.id !== id) return text;
  const { result } = message;
  const print = (answer: object) => JSON.stringify({ jsonrpc: "2.0", id, ...answer });
  try {
    const question = take && questionOf(result);
    if (question !== undefined) return print(await take!(question));
    const own = withoutMarks(result);
    const isUntyped = take !== undefined && own?.["resultType"] === undefined;
    const whole = (isUntyped && completeResult(own)) || own;
    return whole === result ? text : print({ result: whole });
  } catch (error) {
    return print({ error: asRpcError(error) });
  }
}

/** After response headers a failure is an answer, with our code in its data. */
function asRpcError(error: unknown) {
  const isOurs = McpSessionError.isInstance(error);
  const { message } = isOurs ? error : { message: "The server's question could not be kept." };
  return { code: -32_603, message, data: isOurs ? { code: error.code } : {} };
}
