import { McpSessionError } from "@durable-mcp/core";
import type { UIMessage, UIMessageChunk } from "ai";
import type { DurableAgent } from "../agent/durable-agent.ts";
import { openAnswer } from "../agent/durable-agent-ui-stream.ts";
import type { OwnAnswer } from "./answer-record.ts";
import { createLiveStream, type LiveStream } from "./live-stream.ts";
import type { CallEnd } from "./noted-calls.ts";
import { lacksResult, settleMessages } from "./settle-messages.ts";

interface ChatAnswer {
  readonly agent: DurableAgent<any, any, any, any>;
  readonly answer: OwnAnswer;
  /** With what the user has said. */
  readonly messages: readonly UIMessage[];
  /** Whether the answer broke off. */
  readonly isCutOff: boolean;
  readonly save: (messages: readonly UIMessage[]) => Promise<void>;
  /** Gives the agent's call options. */
  readonly options: () => Promise<any>;
  /** What the page reads of the answer. */
  readonly stream: object | undefined;
  /** @returns what the page reads of an error */
  readonly onError: (error: unknown) => string;
}

/**
 * Makes an answer to its end, whoever reads it, and saves it after each step. At the end it is nobody's any more.
 *
 * @throws if it could not be begun. It counts as failed then
 */
export async function answerChat({
  agent,
  answer,
  save,
  onError,
  ...given
}: ChatAnswer): Promise<LiveStream<UIMessageChunk>> {
  const { signal } = answer;
  const keep = async (all: readonly UIMessage[]) => {
    // A process that was asleep has lost the chat to another one.
    if (!(await answer.isOurs())) return;
    await save(all);
    answer.saved((call) => lacksResult(all, call));
  };
  let failure: { readonly text: string } | undefined;
  // AI SDK tells of an error again when it reads its chunk.
  const fail = (error: unknown) => (failure ??= { text: onError(error) }).text;
  /** Of a call's error, or of the answer's. */
  let cause: unknown;
  const textOf = (error: unknown) => {
    cause = error;
    return McpSessionError.isInstance(error) ? error.message : "An error occurred.";
  };
  const notes = new TransformStream<UIMessageChunk, UIMessageChunk>({
    transform(chunk, controller) {
      const end = endIn(chunk);
      if (end) answer.ended(...end);
      controller.enqueue(chunk.type === "error" ? { ...chunk, errorText: fail(cause) } : chunk);
    },
  });
  const finish = async (all: readonly UIMessage[]) => {
    const isWhole = failure === undefined && !signal.aborted;
    await keep((isWhole ? all : settleMessages(all)).flatMap(withoutEmptySteps)).catch(fail);
    await answer.end(failure ? "failed" : "done").catch(onError);
  };
  try {
    const { messages, isCutOff, stream, options } = given;
    await keep(messages);
    const ai = await import("ai");
    const { uiMessages, ...answered } = await openAnswer(
      agent,
      await options(),
      {
        // The model reads the error of a call in a later step as the page has it.
        ...{ ...stream, onError: textOf, redactToolErrors: false },
        ...{ uiMessages: [...messages], abortSignal: signal },
      },
      { beforeCall: (call) => answer.begin(call), isCutOff },
    );
    const saved = ai.createUIMessageStream({
      originalMessages: uiMessages,
      execute: ({ writer }) => writer.merge(answered.stream.pipeThrough(notes)),
      // By the names that both releases of AI SDK know. What is not saved now is saved at the end.
      onStepFinish: async ({ messages: all }) => void (await keep(all).catch(onError)),
      onFinish: async ({ messages: all }) => await finish(all),
      onError: fail,
      generateId: () => crypto.randomUUID(),
    });
    return createLiveStream(saved);
  } catch (error) {
    await answer.end("failed").catch(onError);
    throw error;
  }
}

function endIn(chunk: UIMessageChunk): [toolCallId: string, CallEnd] | undefined {
  if (chunk.type === "tool-output-available" && !chunk.preliminary)
    return [chunk.toolCallId, { state: "output-available", output: chunk.output }];
  if (chunk.type !== "tool-output-error") return undefined;
  return [chunk.toolCallId, { state: "output-error", errorText: chunk.errorText }];
}

/** A step in which nothing was said, because calls still wait or it failed at once, leaves no trace. */
function withoutEmptySteps(message: UIMessage): UIMessage[] {
  const parts = message.parts.filter(({ type }, at, { [at + 1]: next }) => {
    return type !== "step-start" || (next !== undefined && next.type !== type);
  });
  return parts.length > 0 || message.role !== "assistant" ? [{ ...message, parts }] : [];
}
