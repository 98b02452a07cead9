/** Agents, and agents in agents, whose calls their server goes on with. */

import type { ModelMessage, ToolSet, UIMessage } from "ai";
import { describe, expect, test } from "vitest";
import { scriptedModel, type Turn } from "@durable-mcp/testing/ai-sdk";
import { asked, calls, resultsOf, startLab, use } from "../../test/slow-lab.ts";
import { slowKinds } from "../../test/slow-server.ts";
import { takeAnswer } from "../../test/ui-chunks.ts";
import { majors } from "../../test/waiting-tool.ts";
import {
  agentTool,
  createDurableAgent,
  createDurableAgentUIStreamResponse,
  stopWhenWaiting,
} from "../index.ts";

const { ai } = majors[1]!;
const delegate: Turn = [{ tool: "delegate", input: { prompt: "Research tea." } }];

describe.each(slowKinds)("a %s", (kind) => {
  test("of a sub-agent goes on in a later step, and the agent above has its result", async () => {
    const { slow, newSessions, list, due } = await startLab(kind);
    const step = async (before: readonly ModelMessage[], turns: Turn[], inner: Turn[]) =>
      await newSessions().run("chat", use, async (run) => {
        const own: ToolSet = await run.tools();
        const model = scriptedModel(...inner);
        const agent = new ai.ToolLoopAgent({ model, tools: own, ...stopWhenWaiting() });
        const tools = { ...own, delegate: agentTool({ agent, description: "Delegates." }) };
        const resumed = await run.waiting.resume(before, { tools });
        const { messages, goesOn } = resumed;
        if (!goesOn) return messages;
        const result = await ai.generateText({
          ...{ model: scriptedModel(...turns), tools: resumed.tools, messages },
          ...stopWhenWaiting(),
        });
        return [...messages, ...result.response.messages];
      });
    const first = await step([asked], [delegate], [calls]);
    expect(await list()).toMatchObject([{ state: "waiting", path: [{ toolName: "delegate" }] }]);
    slow.finish();
    await due();
    const last = await step(first, ["Fine."], ["It is a plant."]);
    expect(resultsOf(last)).toContain("It is a plant.");
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
