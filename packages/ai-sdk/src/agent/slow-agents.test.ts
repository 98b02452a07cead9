/** Agents, and agents in agents, whose calls their server goes on with. */

import type { ModelMessage, ToolSet, UIMessage } from "ai";
import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { scriptedModel, type Turn } from "@durable-mcp/testing/ai-sdk";
import { asked, calls, resultsOf, startLab, use } from "../../test/slow-lab.ts";
import { type SlowKind, slowKinds } from "../../../sessions/test/slow-server.ts";
import { takeAnswer } from "../../test/ui-chunks.ts";
import { majors } from "../../test/waiting-tool.ts";
import {
  agentTool,
  createDurableAgent,
  createDurableAgentUIStreamResponse,
  stopWhenWaiting,
  type WhileWaiting,
} from "../index.ts";

const { ai } = majors[1]!;
const delegate: Turn = [{ tool: "delegate", input: { prompt: "Research tea." } }];

/** An agent in a tool of another, whose calls the lab goes on with. Each step is a process of its own. */
async function startAgents(kind: SlowKind) {
  const { newSessions, ...lab } = await startLab(kind);
  const step = async (
    before: readonly ModelMessage[],
    turns: Turn[],
    inner: Turn[],
    whileWaiting: WhileWaiting = "reply",
  ) =>
    await newSessions().run("chat", use, async (run) => {
      const own: ToolSet = await run.tools();
      const model = scriptedModel(...inner);
      const agent = new ai.ToolLoopAgent({ model, tools: own, ...stopWhenWaiting() });
      const tools = { ...own, delegate: agentTool({ agent, description: "Delegates." }) };
      const resumed = await run.waiting.resume(before, { tools, whileWaiting });
      const { messages, goesOn } = resumed;
      if (!goesOn) return messages;
      const result = await ai.generateText({
        ...{ model: scriptedModel(...turns), tools: resumed.tools, messages },
        ...stopWhenWaiting(),
      });
      return [...messages, ...result.response.messages];
    });
  return { ...lab, step };
}

describe.each(slowKinds)("a %s", (kind) => {
  test("of a sub-agent goes on in a later step, and the agent above has its result", async () => {
    const { slow, list, due, step } = await startAgents(kind);
    const first = await step([asked], [delegate], [calls]);
    expect(await list()).toMatchObject([{ state: "waiting", path: [{ toolName: "delegate" }] }]);
    slow.finish();
    await due();
    const last = await step(first, ["Fine."], ["It is a plant."]);
    expect(resultsOf(last)).toContain("It is a plant.");
    expect(slow.works).toHaveLength(1);
  });

  test("of a sub-agent is stopped with it, and its fate is told", async () => {
    const { slow, list, step } = await startAgents(kind);
    const first = await step([asked], [delegate], [calls]);
    const never = { role: "user", content: "Never mind." } as const;
    const last = await step([...first, never], ["Fine."], [], "withdraw");
    expect(resultsOf(last)).toContain("How far its sub-agent had got is unknown");
    expect(await list()).toEqual([]);
    const told = kind === "stream" ? "POST notifications/cancelled" : "POST tasks/cancel";
    await vi.waitFor(() => expect(slow.log).toContain(told));
  });

  test("of an agent in a tool that is not wrapped is taken back, and its fate is told", async () => {
    const { slow, newSessions, list } = await startLab(kind);
    const told = await newSessions().run("chat", use, async (run) => {
      const own = await run.tools();
      const settings = { ...stopWhenWaiting(), tools: own };
      const agent = new ai.ToolLoopAgent({ model: scriptedModel(calls), ...settings });
      const delegateTool = ai.tool({
        inputSchema: z.object({ prompt: z.string() }),
        execute: async ({ prompt }) => (await agent.generate({ prompt })).text,
      });
      const { tools } = await run.waiting.resume([asked], {
        tools: { ...own, delegate: delegateTool },
      });
      const model = scriptedModel(delegate, "Well.");
      const { response } = await ai.generateText({ model, tools, messages: [asked] });
      return resultsOf(response.messages);
    });
    expect(told).toContain("How far it had got is unknown.");
    expect(await list()).toEqual([]);
    expect(slow.works).toHaveLength(1);
  });

  test("of a durable agent ends its stream, and a page has the result in its place", async () => {
    const { slow, newSessions, due } = await startLab(kind);
    const parts = [{ type: "text" as const, text: "What of tea?" }];
    const messages: UIMessage[] = [{ id: "1", role: "user", parts }];
    const respond = async (...turns: Turn[]) => {
      const agent = createDurableAgent({
        sessions: newSessions(),
        model: scriptedModel(...turns),
      });
      const options = { sessionId: "chat", ...use, endsAt: Date.now() + 60_000 };
      const uiMessages = JSON.parse(JSON.stringify(messages)) as unknown[];
      await takeAnswer(
        messages,
        await createDurableAgentUIStreamResponse({ agent, uiMessages, options }),
      );
    };
    await respond(calls, "never");
    expect(JSON.stringify(messages)).toContain("not done yet");
    slow.finish();
    await due();
    await respond("Tea is a plant.");
    expect(JSON.stringify(messages)).not.toContain("not done yet");
    expect(JSON.stringify(messages)).toContain("All about tea.");
    expect(JSON.stringify(messages)).toContain("Tea is a plant.");
    expect(slow.works).toHaveLength(1);
  });
});
