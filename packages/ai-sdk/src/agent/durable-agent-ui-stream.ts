import type {
  createAgentUIStreamResponse,
  InferUITools,
  OutputInterface,
  ToolSet,
  UIDataTypes,
  UIMessage,
  UIMessageChunk,
} from "ai";
import { type DurableAgentCallOptions, splitCallOptions } from "./agent-sessions.ts";
import type { DurableAgent } from "./durable-agent.ts";
import type { RuntimeContext } from "./open-durable-agent.ts";
import { chatKey, type ChatUse } from "./before-call.ts";
import { beginningWithNews, tellNews } from "../messages/news.ts";
import { resumedChunks, tellSilentStep } from "../messages/ui-chunks.ts";

/**
 * Runs a durable agent and answers with a stream of UI messages, like AI SDK's `createAgentUIStreamResponse`, with the
 * same other options. It opens the session before it reads the messages. So the connections' tools validate earlier
 * results, and given approvals are carried out.
 *
 * Results of calls that have waited take their places first, in the browser's copy of the last message too.
 *
 * The session closes when the stream has ended, even if nobody reads it. Keep the history on your server: a browser can
 * make up approvals.
 *
 * @example
 * return await createDurableAgentUIStreamResponse({
 *   agent,
 *   uiMessages: [...history, said],
 *   options: { sessionId: chatId, principal },
 *   onEnd: async ({ messages }) => await save(messages),
 *   consumeSseStream: ({ stream }) => consumeStream({ stream }),
 * });
 *
 * @throws {McpSessionError} as `open` of the agent
 */
export async function createDurableAgentUIStreamResponse<
  CALL_OPTIONS = never,
  TOOLS extends ToolSet = ToolSet,
  RUNTIME_CONTEXT extends RuntimeContext = RuntimeContext,
  OUTPUT extends OutputInterface = never,
  UI_MESSAGE extends UIMessage<unknown, UIDataTypes, InferUITools<TOOLS>> = UIMessage<
    unknown,
    UIDataTypes,
    InferUITools<TOOLS>
  >,
>({
  agent,
  options,
  ...response
}: Omit<
  Parameters<
    typeof createAgentUIStreamResponse<
      CALL_OPTIONS,
      TOOLS,
      RUNTIME_CONTEXT,
      OUTPUT,
      unknown,
      UI_MESSAGE
    >
  >[0],
  "agent" | "options"
> & {
  agent: DurableAgent<CALL_OPTIONS, TOOLS, RUNTIME_CONTEXT, OUTPUT>;
  options: DurableAgentCallOptions<CALL_OPTIONS>;
}): Promise<Response> {
  const { headers, status, statusText, keepAliveMs, consumeSseStream, ...streamed } = response;
  const init = { headers, status, statusText, keepAliveMs, consumeSseStream };
  const { stream } = await openAnswer(agent, options, streamed);
  const ai = await import("ai");
  return ai.createUIMessageStreamResponse({
    ...(init as Omit<Parameters<typeof ai.createUIMessageStreamResponse>[0], "stream">),
    stream,
  });
}

/**
 * An agent's answer as a stream of chunks.
 *
 * @returns `uiMessages` as the agent gets them, with the results of calls that have waited
 */
export async function openAnswer(
  agent: DurableAgent<any, any, any, any>,
  options: DurableAgentCallOptions<any>,
  streamed: { readonly uiMessages: unknown[]; readonly abortSignal?: AbortSignal | undefined },
  inChat?: ChatUse[typeof chatKey],
): Promise<{ uiMessages: UIMessage[]; stream: ReadableStream<UIMessageChunk> }> {
  const { session, own } = splitCallOptions<unknown>(options);
  const { uiMessages: given, abortSignal, ...others } = streamed;
  const open = await agent.open({ ...session, abortSignal, [chatKey]: inChat } as never);
  try {
    const ai = await import("ai");
    // AI SDK says what is wrong with messages that are none.
    const uiMessages = Array.isArray(given)
      ? [...(await open.resume(given as UIMessage[]))]
      : given;
    const told = Array.isArray(uiMessages) ? tellNews(uiMessages) : uiMessages;
    const stream: ReadableStream<UIMessageChunk> = await ai.createAgentUIStream({
      ...(told !== uiMessages && { originalMessages: uiMessages }),
      ...others,
      ...(abortSignal && { abortSignal }),
      uiMessages: told as unknown[],
      agent: open,
      // Even if there are none, because the agent's schema may require some.
      options: own,
    });
    return {
      uiMessages,
      stream: stream
        .pipeThrough(beginningWithNews(open.news))
        .pipeThrough(beginningWith(resumedChunks(given as UIMessage[], uiMessages)))
        .pipeThrough(tellSilentStep(uiMessages)),
    };
  } finally {
    await open.dispose();
  }
}

function beginningWith(
  first: readonly UIMessageChunk[],
): TransformStream<UIMessageChunk, UIMessageChunk> {
  return new TransformStream({
    start(controller) {
      for (const chunk of first) controller.enqueue(chunk);
    },
  });
}
