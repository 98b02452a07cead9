import type { ToolSet } from "ai";
import { offeredToolOf } from "@durable-mcp/sessions/internal";

/** A call of the model, as its tool gets it. */
export interface AgentCall {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: unknown;
}

/** Told of each call of a tool that the agent executes itself. One of a connection is not made if it rejects. */
type BeforeCall = (call: AgentCall) => Promise<void>;

/** Of `open` of an agent: no option, for it is ours. */
export const chatKey = Symbol("durable-mcp.chat");

/** How a chat opens its agent. */
export interface ChatUse {
  readonly [chatKey]?:
    | {
        readonly beforeCall: BeforeCall;
        /** Whether an answer broke off: the model goes on, also while another call waits. */
        readonly isCutOff: boolean;
      }
    | undefined;
}

type Execute = (input: unknown, use: { readonly toolCallId: string }) => unknown;

/** The tools, which tell of their calls if the agent was opened so. */
export function tellBeforeCalls<TOOLS extends ToolSet>(
  tools: TOOLS,
  inChat: ChatUse[typeof chatKey],
): TOOLS {
  if (inChat === undefined) return tools;
  const { beforeCall } = inChat;
  const entries = Object.entries(tools).map(([toolName, tool]) => {
    const { execute } = tool as { execute?: Execute };
    if (execute === undefined) return [toolName, tool] as const;
    const isOfConnection = offeredToolOf(tool) !== undefined;
    const told: Execute = (input, options) => {
      const noted = beforeCall({ toolCallId: options.toolCallId, toolName, input });
      const run = () => execute.call(tool, input, options);
      if (isOfConnection) return noted.then(run);
      // The application's own may answer with a stream, which no promise can be.
      noted.catch(() => undefined);
      return run();
    };
    return [toolName, { ...tool, execute: told }] as const;
  });
  return Object.fromEntries(entries) as TOOLS;
}
