import type { AgentInTool } from "@durable-mcp/sessions/internal";
import { silentStep, stepWith } from "../messages/stop-when-waiting.ts";

export type Messages = readonly Readonly<Record<string, unknown>>[];

/**
 * A call of an agent in a tool: with its messages of an earlier step, if there are any. One that had ended says again
 * what it said.
 */
export function goingOn<PARAMETERS extends { prompt?: unknown; messages?: unknown }>(
  parameters: PARAMETERS,
  inTool: AgentInTool | undefined,
): { readonly parameters: PARAMETERS; readonly messages: Messages } {
  const { prompt, messages: given, ...others } = parameters;
  const own = inTool?.history ?? given ?? prompt;
  const messages = (typeof own === "string" ? [{ role: "user", content: own }] : own) as Messages;
  if (inTool?.isLate)
    return { parameters: { ...parameters, prepareStep: () => silentStep }, messages };
  if (inTool?.history === undefined) return { parameters, messages };
  const goesOn = (parts: object) => ({ ...others, ...parts }) as unknown as PARAMETERS;
  const answer = answerIn(messages);
  if (answer === undefined) return { parameters: goesOn({ messages }), messages };
  const before = messages.slice(0, -1);
  const said = stepWith(answer, { unified: "stop", raw: undefined });
  return { parameters: goesOn({ messages: before, prepareStep: () => said }), messages: before };
}

/** The text with which the messages of an agent end; `undefined` if it has to go on. */
export function answerIn(messages: Messages): string | undefined {
  const last = messages.at(-1);
  if (last === undefined || !isOnlySaid(last)) return undefined;
  const { content } = last;
  if (!Array.isArray(content)) return String(content);
  return content.map((part) => (part.type === "text" ? part.text : "")).join("");
}

/** The messages without what a model has said of a placeholder: it is over when the result is there. */
export function withoutComment(messages: Messages): Messages {
  return messages.slice(0, messages.findLastIndex((message) => !isOnlySaid(message)) + 1);
}

function isOnlySaid({ role, content }: Messages[number]): boolean {
  const calls = Array.isArray(content) && content.some(({ type }) => type === "tool-call");
  return role === "assistant" && !calls;
}

/** AI SDK 6 and 7 have them in different places. */
export function responseMessagesOf(result: object): Messages {
  const { response, responseMessages = response?.messages ?? [] } = result as {
    readonly response?: { readonly messages?: Messages };
    readonly responseMessages?: Messages;
  };
  return responseMessages;
}

/** The messages of a stream that the tool reads. One that fails has none. */
export async function messagesOfStream(before: Messages, result: object): Promise<Messages> {
  try {
    const { responseMessages, response } = result as {
      readonly response?: PromiseLike<{ readonly messages?: Messages }>;
      readonly responseMessages?: PromiseLike<Messages>;
    };
    return [...before, ...((await responseMessages) ?? (await response)?.messages ?? [])];
  } catch {
    return [];
  }
}
