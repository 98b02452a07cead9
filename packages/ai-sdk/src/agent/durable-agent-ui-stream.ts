import type {
  createAgentUIStreamResponse,
  InferUITools,
  OutputInterface,
  ToolSet,
  UIDataTypes,
  UIMessage,
} from "ai";
import { type DurableAgentCallOptions, splitCallOptions } from "./agent-sessions.ts";
import type { DurableAgent } from "./durable-agent.ts";
import type { RuntimeContext } from "./open-durable-agent.ts";

/**
 * Runs a durable agent and answers with a stream of UI messages, like AI SDK's
 * `createAgentUIStreamResponse`. It takes the same other options. It opens the session before it reads
 * the messages. Earlier results of the connections' tools are thus validated and reach the model in their
 * original form, and given approvals are carried out.
 *
 * The session closes when the stream has ended, even if nobody reads it. Pass
 * `abortSignal: request.signal` to stop when the client is gone.
 *
 * @example
 * return await createDurableAgentUIStreamResponse({
 *   agent,
 *   uiMessages: messages,
 *   options: { sessionId: chatId, principal },
 *   abortSignal: request.signal,
 * });
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
  const { session, own } = splitCallOptions(options);
  const { abortSignal } = response;
  const open = await agent.open({ ...session, abortSignal });
  try {
    const ai = await import("ai");
    return await ai.createAgentUIStreamResponse({
      ...response,
      agent: open,
      // Even if there are none, because the agent's schema may require some.
      options: own as CALL_OPTIONS,
    });
  } finally {
    await open.dispose();
  }
}
