import { McpSessionError } from "@durable-mcp/ai-sdk";
import type { ToolModelMessage, ToolSet } from "ai";

/** A call that the model wants; plain JSON. */
export interface WantedCall {
  toolCallId: string;
  toolName: string;
  input: unknown;
}

/**
 * Makes one tool call, as an AI SDK agent would: what goes wrong is told to the model.
 *
 * @returns the message for the model; plain JSON
 */
export async function callTool(
  tools: ToolSet,
  { toolCallId, toolName, input }: WantedCall,
): Promise<ToolModelMessage> {
  try {
    const tool = tools[toolName];
    if (tool?.execute === undefined) throw new Error(`There is no tool ${toolName}.`);
    const execution = { toolCallId, messages: [], context: undefined };
    const output: unknown = await tool.execute(input, execution);
    const told = await tool.toModelOutput?.({ toolCallId, input, output });
    return {
      role: "tool",
      content: [
        {
          type: "tool-result",
          toolCallId,
          toolName,
          output: told ?? { type: "text", value: JSON.stringify(output) },
        },
      ],
    };
  } catch (error) {
    return failedCall({ toolCallId, toolName }, error);
  }
}

/** What the model is told of a call of which nobody knows whether it was carried out. */
export function interruptedCall(call: WantedCall): ToolModelMessage {
  const error = new McpSessionError(
    "OUTCOME_UNKNOWN",
    "The process ended in the middle of the call; whether it was carried out is unknown. Check before you call again.",
    { data: { method: "tools/call" } },
  );
  return failedCall(call, error);
}

function failedCall(
  { toolCallId, toolName }: Omit<WantedCall, "input">,
  error: unknown,
): ToolModelMessage {
  const code = McpSessionError.isInstance(error) ? `${error.code}: ` : "";
  const value = `${code}${error instanceof Error ? error.message : String(error)}`;
  return {
    role: "tool",
    content: [{ type: "tool-result", toolCallId, toolName, output: { type: "error-text", value } }],
  };
}
