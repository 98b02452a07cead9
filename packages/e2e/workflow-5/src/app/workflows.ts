import { WorkflowAgent } from "@ai-sdk/workflow";
import { openDurableConnections } from "@durable-mcp/workflow";
import type { ModelMessage } from "ai";
import { createHook, sleep } from "workflow";
import { mcpCall, mcpSessions } from "./mcp-steps.ts";
import { ScriptedModel } from "./scripted-model.ts";

export interface AgentRun {
  readonly principal: { readonly type: "user"; readonly issuer: string; readonly id: string };
  readonly prompt: string;
  readonly connections?: readonly string[];
  readonly sessionId?: string;
  readonly state?: string;
  /** The tool that somebody has to approve, and the token of the hook they do it with. */
  readonly approval?: { readonly tool: string; readonly token: string };
  readonly sleepMs?: number;
}

/** One turn of a chat with a `WorkflowAgent`, whose model says what the prompt holds as JSON. */
export async function agentTurn({ prompt, approval, sleepMs, ...run }: AgentRun) {
  "use workflow";
  const steps = { sessions: mcpSessions, call: mcpCall };
  const mcp = await openDurableConnections({ connections: ["notes"], ...run, steps });
  const tools: Record<string, any> = mcp.tools;
  if (approval) tools[approval.tool] = { ...tools[approval.tool], needsApproval: true };
  // The agent brings an older release of AI SDK, whose types differ in details.
  const model = new ScriptedModel() as unknown as ConstructorParameters<
    typeof WorkflowAgent
  >[0]["model"];
  const agent = new WorkflowAgent({ model, tools });
  let messages: ModelMessage[] = [{ role: "user", content: prompt }];
  if (sleepMs !== undefined) await sleep(sleepMs);
  let result = await agent.stream({ messages });

  const asked = result.toolCalls.filter(
    ({ toolCallId }) => !result.toolResults.some((one) => one.toolCallId === toolCallId),
  );
  if (approval && asked.length > 0) {
    const { approved } = await createHook<{ approved: boolean }>({ token: approval.token });
    messages = withApproval(result.messages, asked, approved);
    result = await agent.stream({ messages });
  }
  return { messages: result.messages, state: mcp.state };
}

/** The conversation with somebody's answer, as a chat sends it back. */
function withApproval(
  messages: readonly ModelMessage[],
  calls: readonly { readonly toolCallId: string }[],
  approved: boolean,
): ModelMessage[] {
  return [
    ...messages,
    {
      role: "assistant",
      content: calls.map(({ toolCallId }) => ({
        type: "tool-approval-request",
        toolCallId,
        approvalId: `approval-${toolCallId}`,
      })),
    },
    {
      role: "tool",
      content: calls.map(({ toolCallId }) => ({
        type: "tool-approval-response",
        approvalId: `approval-${toolCallId}`,
        approved,
      })),
    },
  ];
}
