import { createMemoryStore } from "@durable-mcp/core";
import type { ModelMessage, ToolSet } from "ai";
import { beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { type AskingServer, startAskingServer, yes } from "../../../sessions/test/asking-server.ts";
import { scriptedModel, toolResults, type Turn } from "@durable-mcp/testing/ai-sdk";
import { startLockedShop } from "../../test/sign-in-application.ts";
import { alice } from "../../test/step.ts";
import { majors } from "../../test/waiting-tool.ts";
import {
  agentTool,
  createDurableAgent,
  createDurableSessions,
  defineMcpClientConnection,
  stopWhenWaiting,
} from "../index.ts";

const use = { principal: alice };
const options = { sessionId: "chat", ...use };
const asJson = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;
const user = (content: string): ModelMessage => ({ role: "user", content });
const order = (item = "tea") => [{ tool: "shop__order", input: { item } }];
const call = (tool: string) => [{ tool, input: { prompt: "Order tea." } }];
const start = [user("Have tea ordered.")];
const inputSchema = z.object({ prompt: z.string() });

let shop: AskingServer;
let store: ReturnType<typeof createMemoryStore>;
beforeEach(async () => {
  shop = await startAskingServer();
  store = createMemoryStore();
});

/** Sessions of a process of its own. */
function sessionsOf() {
  const { url } = shop;
  const connections = {
    shop: defineMcpClientConnection({ url, description: "A.", waiting: true }),
  };
  return createDurableSessions({ connections, store });
}

type Sessions = ReturnType<typeof sessionsOf>;
const waiting = async (sessions: Sessions = sessionsOf()) => await sessions.waiting("chat", use);

/** Answers all questions, in a process of its own. */
async function answer(sessions: Sessions = sessionsOf()): Promise<void> {
  for (const each of await waiting(sessions))
    if (each.type === "question") await sessions.answer("chat", each.id, yes, use);
}

describe.each(majors)("a tool of agentTool with AI SDK $major", ({ major, ai }) => {
  type MakeTools = (tools: ToolSet) => ToolSet;
  const ownTool = (execute: (prompt: string) => unknown) =>
    ai.tool({ inputSchema, execute: ({ prompt }) => execute(prompt) });
  const agentOf = (tools: ToolSet, turns: readonly Turn[]) =>
    new ai.ToolLoopAgent({ model: scriptedModel(...turns), tools, ...stopWhenWaiting() });
  const wrapped = (tools: ToolSet, turns: readonly Turn[], settings: object = {}) =>
    agentTool({ description: "Orders.", agent: agentOf(tools, turns), ...settings }) as never;
  /** One tool, `delegate`. */
  const delegating =
    (...turns: Turn[]): MakeTools =>
    (tools) => ({ delegate: wrapped(tools, turns) });

  const two =
    (one: Turn[], other: Turn[]): MakeTools =>
    (tools) => ({
      one: wrapped(tools, one),
      other: wrapped(tools, other, { description: "Others." }),
    });
  const bareAround = (tools: ToolSet, turns: Turn[]) =>
    ownTool(async (prompt) => (await agentOf(tools, turns).generate({ prompt })).text);
  const low: MakeTools = (tools) => ({ low: wrapped(tools, [order()]) });

  /** A step of the root agent, in a process of its own. */
  async function step(
    before: readonly ModelMessage[],
    turns: readonly Turn[],
    makeTools: MakeTools,
    sessions: Sessions = sessionsOf(),
  ) {
    const model = scriptedModel(...turns);
    const after = await sessions.run("chat", use, async (run) => {
      const own = (await run.tools()) as ToolSet;
      const tools = { ...own, ...makeTools(own) };
      const { messages, goesOn } = await run.waiting.resume(before, { tools });
      if (!goesOn) return messages;
      const stop = stopWhenWaiting({ stopWhen: ({ steps }) => steps.length === 10 });
      const result = await ai.generateText({ model, tools, messages, ...stop });
      return [...messages, ...(result.responseMessages ?? result.response.messages)];
    });
    return { messages: asJson(after), told: toolResults(model) };
  }

  test("joins a call that it repeats, and gives it the same result", async () => {
    const first = await step(start, [call("delegate")], delegating(order()));
    const asked = [...first.messages, user("And?")];
    const second = await step(asked, [call("delegate"), "It waits."], delegating());
    expect(await waiting()).toHaveLength(1);
    await answer();
    const third = await step(second.messages, ["Done."], delegating("Tea is ordered."));
    expect(third.told).toEqual(["text: Tea is ordered.", "text: Tea is ordered."]);
  });

  test("does not join another tool's call of the same input", async () => {
    const first = await step(start, [call("one")], two([order()], []));
    const asked = [...first.messages, user("And?")];
    const second = await step(asked, [call("other"), "Done."], two([], ["Looked."]));
    expect(second.told[1]).toBe("text: Looked.");
  });

  test("leaves the root's own repeats to the root", async () => {
    const first = await step(start, [order()], delegating());
    const asked = [...first.messages, user("Ask the helper.")];
    const turns: Turn[] = [call("delegate"), order(), "It waits."];
    await step(asked, turns, delegating("Looked."));
    expect(shop.legs).toHaveLength(1);
    // The same call of a sub-agent is another one.
    await step(asked, [call("delegate"), "never"], delegating(order(), "never"));
    expect((await waiting()).map((each) => "path" in each)).toEqual([false, true]);
  });

  test("is not executed for a placeholder that names it", async () => {
    const executed: string[] = [];
    const withOther =
      (...turns: Turn[]): MakeTools =>
      (tools) => ({
        delegate: wrapped(tools, turns),
        pay: ownTool((prompt) => executed.push(prompt)),
      });
    const first = await step(start, [call("delegate")], withOther(order()));
    await answer();
    const forged = JSON.stringify(first.messages).replaceAll('"delegate"', '"pay"');
    const { told } = await step(JSON.parse(forged) as ModelMessage[], ["Hm."], withOther());
    expect(told[0]).toContain("not kept");
    expect(executed).toEqual([]);
    const last = await step(first.messages, ["Done."], withOther("Tea."));
    expect(last.told).toEqual(["text: Tea."]);
  });

  test("keeps parallel calls apart, when models give ids again", async () => {
    let messages = start;
    for (const round of [1, 2]) {
      const first = await step(
        messages,
        [[...call("one"), ...call("other")]],
        two([order()], [order()]),
      );
      expect(await waiting()).toHaveLength(2);
      await answer();
      const last = await step(first.messages, ["Done."], two([`A${round}`], [`B${round}`]));
      expect(last.told.slice(-2)).toEqual([`text: A${round}`, `text: B${round}`]);
      messages = [...last.messages, user("Again.")];
    }
    expect(shop.legs).toHaveLength(8);
  });

  test("is resumed by one of two processes", async () => {
    const first = await step(start, [call("delegate")], delegating(order()));
    await answer();
    const steps = ["One.", "Another."].map((text) =>
      step(first.messages, ["Done."], delegating(text)),
    );
    const told = (await Promise.all(steps)).flatMap((each) => each.told);
    expect(told).toHaveLength(1);
    expect((await step(first.messages, ["Done."], delegating())).told).toEqual(told);
  });

  test("is executed again when what it waits for is over, and not before", async () => {
    let executions = 0;
    const counted =
      (...turns: Turn[]): MakeTools =>
      (tools) => {
        const agent = () => {
          executions += 1;
          return agentOf(tools, turns);
        };
        return { delegate: agentTool({ description: "Orders.", agent }) as never };
      };
    const first = await step(start, [call("delegate")], counted(order()));
    const early = await step(first.messages, [], counted());
    expect(executions).toBe(1);
    await answer();
    const last = await step(early.messages, ["Done."], counted("Tea."));
    expect([executions, ...last.told]).toEqual([2, "text: Tea."]);
  });

  test("waits on after an abort, and takes back what was asked in that step", async () => {
    const first = await step(start, [call("delegate")], delegating(order()));
    await answer();
    const controller = new AbortController();
    const aborting: MakeTools = (own) => {
      const abort = ownTool(() => controller.abort(new Error("The page is gone.")));
      const model = scriptedModel(order("milk"), call("abort"));
      const agent = new ai.ToolLoopAgent({ model, tools: { ...own, abort } });
      return { delegate: agentTool({ description: "Orders.", agent }) as never };
    };
    const aborted = sessionsOf().run(
      "chat",
      { ...use, abortSignal: controller.signal },
      async (run) => {
        const own = (await run.tools()) as ToolSet;
        return await run.waiting.resume(first.messages, { tools: { ...own, ...aborting(own) } });
      },
    );
    await expect(aborted).rejects.toThrow("The page is gone.");
    expect(await waiting()).toEqual([]);
    const last = await step(first.messages, ["Done."], delegating("Tea."));
    expect(last.told).toEqual(["text: Tea."]);
  });

  test("goes on with the call of the first, in a step that is executed again", async () => {
    await step(start, [call("delegate")], delegating(order()));
    const look = [{ tool: "shop__look" }];
    const again = await step(start, [call("delegate")], delegating(look, order("milk")));
    expect(await waiting()).toHaveLength(1);
    await answer();
    const last = await step(again.messages, ["Done."], delegating("Tea."));
    expect(last.told).toEqual(["text: Tea."]);
    expect(await waiting()).toEqual([]);
  });

  test("takes back what waits, if nobody reads its stream to the end", async () => {
    await sessionsOf().run("chat", use, async (run) => {
      const agent = agentOf(await run.tools(), [order()]);
      const { execute } = agentTool({ description: "Orders.", agent, stream: true });
      const rootCall = { toolCallId: "root", messages: [] };
      const messages = execute!({ prompt: "Order." }, rootCall as never) as AsyncIterable<unknown>;
      for await (const message of messages)
        if (JSON.stringify(message).includes("output-available")) break;
    });
    expect(await waiting()).toEqual([]);
  });

  test("in a tool that is none, takes the call back, at any level", async () => {
    if (major === 6) return;
    const bare: MakeTools = (tools) => ({ bare: bareAround(low(tools), [call("low"), "never"]) });
    const outside = await step(start, [call("bare"), "I see."], bare);
    expect(outside.told).toEqual([expect.stringMatching(/^error-text: .*tools\.bare.*agentTool/)]);
    expect(await waiting()).toEqual([]);
    const top: MakeTools = (tools) => ({
      top: wrapped(bare(tools), [call("bare"), "It failed."]),
    });
    const { told } = await step(start, [call("top"), "I see."], top);
    expect(told).toEqual(["text: It failed."]);
    expect(await waiting()).toEqual([]);
  });

  test("keeps its path when the server asks after a sign-in", async () => {
    const app = await startLockedShop({ ai, waiting: true });
    await app.signIn();
    await app.step([user("Hello.")], ["Hello."]);
    const ordering = [{ tool: "work__order", input: { item: "tea" } }];
    const sessions = () => app.sessions() as Sessions;
    const first = await step(start, [call("delegate")], delegating(ordering), sessions());
    await app.signIn();
    const second = await step(first.messages, [], delegating(), sessions());
    expect(await waiting(sessions())).toMatchObject([
      { type: "question", path: [{ toolCallId: "call-0-0" }] },
    ]);
    await answer(sessions());
    const last = await step(second.messages, ["Done."], delegating("Tea."), sessions());
    expect(last.told).toEqual(["text: Tea."]);
    expect(app.server.legs).toHaveLength(2);
  });
});

type Helpers = ReturnType<typeof durableAgent>[];

function durableAgent(turns: readonly Turn[], tools: ToolSet = {}) {
  const model = scriptedModel(...turns);
  return Object.assign(createDurableAgent({ sessions: sessionsOf(), model, tools }), { model });
}

const inTurn = async ([one, other]: Helpers, prompt: string) => {
  const { text } = await one!.generate({ prompt, options });
  return `${text} ${(await other!.generate({ prompt: text, options })).text}`;
};
const atOnce = async (helpers: Helpers, prompt: string) => {
  const all = await Promise.all(helpers.map((each) => each.generate({ prompt, options })));
  return all.map(({ text }) => text).join(" ");
};
const alone = async ([one]: Helpers, prompt: string) =>
  (await one!.generate({ prompt, options })).text;

/** The turns of the helpers, then of the root. */
async function generate(
  messages: readonly ModelMessage[],
  turns: readonly (readonly Turn[])[],
  execute: (helpers: Helpers, prompt: string) => Promise<string>,
  sessionId = "chat",
) {
  const helpers = turns.slice(0, -1).map((each) => durableAgent(each));
  const asked = helpers.map((helper) => ({
    ...helper,
    generate: (given: object) =>
      helper.generate({ ...given, options: { ...options, sessionId } } as never),
  })) as unknown as Helpers;
  const delegate = {
    inputSchema,
    execute: async ({ prompt }: { prompt: string }) => await execute(asked, prompt),
  };
  const look = { inputSchema, execute: () => "Looked." };
  const root = durableAgent(turns.at(-1)!, { delegate, look });
  const stream = await root.stream({ messages: [...messages], options });
  const results: string[] = [];
  for await (const part of stream.stream)
    if (part.type === "tool-result") results.push(part.toolName);
  const after = asJson([...messages, ...(await stream.responseMessages)]);
  return { messages: after, told: toolResults(root.model), helpers, results };
}

describe("durable agents in a tool of another", () => {
  test.each([inTurn, atOnce])("one that has ended says again what it said", async (execute) => {
    const first = await generate(start, [["One."], [order()], [call("delegate")]], execute);
    await answer();
    const last = await generate(first.messages, [[], ["Two."], ["Done."]], execute);
    expect(last.told).toEqual(["text: One. Two."]);
  });

  test("one that comes after one that waits begins with that one's answer", async () => {
    const first = await generate(start, [[order()], ["never"], [call("delegate")]], inTurn);
    expect(first.helpers[1]!.model.doGenerateCalls).toEqual([]);
    await answer();
    const last = await generate(first.messages, [["One."], ["Two."], ["Done."]], inTurn);
    expect(last.told).toEqual(["text: One. Two."]);
    const [{ prompt }] = last.helpers[1]!.model.doGenerateCalls as [{ prompt: unknown }];
    expect(prompt).toMatchObject([{ role: "user", content: [{ text: "One." }] }]);
  });

  test("may have agent sessions of their own", async () => {
    const first = await generate(start, [[order()], [call("delegate")]], alone, "helper");
    const early = await generate(first.messages, [[], []], alone, "helper");
    expect(early.messages).toEqual(first.messages);
    const [question] = await sessionsOf().waiting("helper", use);
    await sessionsOf().answer("helper", question!.id!, yes, use);
    const last = await generate(first.messages, [["Tea."], ["Done."]], alone, "helper");
    expect(last.told).toEqual(["text: Tea."]);
  });

  test("leave the results of other tools as they are while they wait", async () => {
    const first = await generate(start, [[order()], [call("delegate")]], alone);
    const asked = [...first.messages, user("And?")];
    const { results } = await generate(asked, [[], [call("look"), "Looked."]], alone);
    expect(results).toEqual(["look"]);
  });
});
