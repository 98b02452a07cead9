import type { AgentInTool } from "../tools/tool-call-scope.ts";

export type Messages = readonly Readonly<Record<string, unknown>>[];

/** A call of an agent in a tool: with its messages of an earlier step, if there are any. */
export function goingOn<PARAMETERS extends { prompt?: unknown; messages?: unknown }>(
  parameters: PARAMETERS,
  inTool: AgentInTool,
): { readonly parameters: PARAMETERS; readonly messages: Messages } {
  const { prompt, messages: given, ...others } = parameters;
  const own = inTool?.history ?? given ?? prompt;
  const messages = (typeof own === "string" ? [{ role: "user", content: own }] : own) as Messages;
  if (inTool?.history === undefined) return { parameters, messages };
  return { parameters: { ...others, messages } as unknown as PARAMETERS, messages };
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
