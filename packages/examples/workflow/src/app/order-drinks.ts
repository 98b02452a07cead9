import { openDurableConnections } from "@durable-mcp/workflow";
import { DurableAgent } from "@workflow/ai/agent";
import type { UIMessageChunk } from "ai";
import { getWritable } from "workflow";
import { mcpCall, mcpSessions } from "./mcp-steps.ts";
import { type OrderRun, readAnswers } from "./order-run.ts";
import { orderModel } from "./order-model.ts";

/** An agent that shops and orders, in sessions that outlive each of its steps. */
export async function orderDrinks({ principal, connections, prompt }: OrderRun) {
  "use workflow";
  const steps = { sessions: mcpSessions, call: mcpCall };
  const mcp = await openDurableConnections({ connections, principal, steps });
  const agent = new DurableAgent({ model: orderModel, tools: mcp.tools });
  const { messages } = await agent.stream({
    messages: [{ role: "user", content: prompt }],
    writable: getWritable<UIMessageChunk>(),
  });
  return { answers: readAnswers(messages), state: mcp.state };
}
