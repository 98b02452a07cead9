import { isRecord } from "../base/json-values.ts";
import { McpSessionError } from "../base/mcp-session-error.ts";
import { type JsonRpcId, parseMessage } from "../wire/json-rpc.ts";
import { editAnswer } from "../wire/read-answer.ts";
import { completeResult } from "./complete-result.ts";
import { questionMark, questionOf } from "./question.ts";
import { waitingKey, withoutPlaceholder } from "./waiting-call.ts";
import type { Question } from "./waiting-life.ts";
import type { WaitingAnswer } from "./waiting-record.ts";

/** Keeps a question. Gives what the client is to get instead. */
type TakeQuestion = (question: Question) => Promise<WaitingAnswer>;

/**
 * The server's answer to one request, with what `take` gives in the place of questions. A result that does not
 * say that it is complete says so then. All else passes as it comes.
 */
export async function answerWithPlaceholder(
  response: Response,
  id: JsonRpcId,
  take: TakeQuestion,
): Promise<Response> {
  return await editAnswer(response, (text) => replaced(text, id, take));
}

/** In the JSON of every result, but for those of some servers. */
const typeMark = '"resultType"';

async function replaced(text: string, id: JsonRpcId, take: TakeQuestion): Promise<string> {
  const isPlain = text.includes(typeMark) && !text.includes(waitingKey);
  if (isPlain && !text.includes(questionMark)) return text;
  const message = parseMessage(text);
  if (message === undefined || "method" in message || message.id !== id) return text;
  const { result } = message;
  const question = questionOf(result);
  if (question === undefined) {
    const own = isRecord(result) ? ownResult(result) : result;
    return own === result ? text : JSON.stringify({ jsonrpc: "2.0", id, result: own });
  }
  try {
    return JSON.stringify({ jsonrpc: "2.0", id, ...(await take(question)) });
  } catch (error) {
    return JSON.stringify({ jsonrpc: "2.0", id, error: asRpcError(error) });
  }
}

/** A server's own result: one without a type is complete, and none stands for a waiting call. */
function ownResult(result: Record<string, unknown>): Record<string, unknown> {
  const own = withoutPlaceholder(result);
  return own["resultType"] === undefined ? (completeResult(own) ?? own) : own;
}

/** After response headers a failure is an answer, with our code in its data. */
function asRpcError(error: unknown) {
  const isOurs = McpSessionError.isInstance(error);
  const { message } = isOurs ? error : { message: "The server's question could not be kept." };
  return { code: -32_603, message, data: isOurs ? { code: error.code } : {} };
}
