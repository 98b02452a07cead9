import type { Answer, JSONRPCRequest, RequestId } from "../base/mcp-types.ts";

/*
 * The ids of questions that are stored name their call, not the process that asks: any replica takes
 * the answer. They are no ids of a live session (see instance-ids.ts), which have one dot.
 */

/** A question of a call. */
export interface QuestionName {
  /** The call's name in its session. */
  readonly call: string;
  /** How often the call has asked, from 1. */
  readonly round: number;
  /** Among the questions of that round, from 0. */
  readonly index: number;
}

const pattern = /^q\.([\w-]{1,64}\.[0-9a-z]{1,8})\.(\d{1,6})\.(\d{1,6})$/;

export function questionId({ call, round, index }: QuestionName): string {
  return `q.${call}.${round}.${index}`;
}

/** `undefined` for an id that is not of a stored question. */
export function parseQuestionId(id: RequestId | undefined): QuestionName | undefined {
  const [, call, round, index] = (typeof id === "string" && pattern.exec(id)) || [];
  return call === undefined ? undefined : { call, round: Number(round), index: Number(index) };
}

/** A call ends because its questions cannot be answered: as SDK v2 says it for each method. */
export function failedQuestion(
  { id, method }: Pick<JSONRPCRequest, "id" | "method">,
  text: string,
) {
  const content = [{ type: "text", text }];
  const answer: Answer =
    method === "tools/call"
      ? { jsonrpc: "2.0", id, result: { content, isError: true } }
      : { jsonrpc: "2.0", id, error: { code: -32603, message: text } };
  return answer;
}

/** The methods whose handlers may ask, and the parameters that only a repeated request has. */
const askingMethods = new Set(["tools/call", "prompts/get", "resources/read"]);

/**
 * A client's request without the answers and the state that only this server gives to a call of a
 * session: sent unasked, they are no answers to a question.
 */
export function withoutAnswers<Message extends object>(message: Message): Message {
  const { method, params } = message as Partial<JSONRPCRequest>;
  if (!params || method === undefined || !askingMethods.has(method)) return message;
  if (!("inputResponses" in params) && !("requestState" in params)) return message;
  const { inputResponses: _, requestState: __, ...others } = params;
  return { ...message, params: others };
}
