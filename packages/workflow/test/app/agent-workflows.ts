import { openDurableConnections } from "@durable-mcp/workflow";
import { DurableAgent } from "@workflow/ai/agent";
import type { ModelMessage, UIMessageChunk } from "ai";
import { createHook, getWritable } from "workflow";
import { mcpCall, mcpSessions } from "./mcp-steps.ts";
import { scriptedModel } from "./scripted-model.ts";

const steps = { sessions: mcpSessions, call: mcpCall };

export interface AgentRun {
  readonly principal: { readonly type: "user"; readonly issuer: string; readonly id: string };
  readonly prompt: string;
  readonly connections?: readonly string[];
  readonly state?: string;
  /** The tool that somebody has to approve, and the token of the hook they do it with. */
  readonly approval?: { readonly tool: string; readonly token: string };
}

/** One turn of a chat with a `DurableAgent`, whose model says what the prompt holds as JSON. */
export async function agentTurn({ prompt, approval, ...run }: AgentRun) {
  "use workflow";
  const mcp = await openDurableConnections({ connections: ["notes"], ...run, steps });
  const { tools } = mcp;
  if (approval !== undefined) {
    const tool = tools[approval.tool]!;
    tools[approval.tool] = {
      ...tool,
      async execute(input) {
        const { approved } = await createHook<{ approved: boolean }>({ token: approval.token });
        return approved ? await tool.execute(input) : "Somebody said no.";
      },
    };
  }
  const agent = new DurableAgent({ model: scriptedModel, tools });
  const messages: ModelMessage[] = [{ role: "user", content: prompt }];
  const result = await agent.stream({ messages, writable: getWritable<UIMessageChunk>() });
  return { messages: result.messages, state: mcp.state };
}
