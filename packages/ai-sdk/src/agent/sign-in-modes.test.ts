import type { ModelMessage, ToolSet } from "ai";
import { describe, expect, test } from "vitest";
import { scriptedModel, toolResults, type Turn } from "@durable-mcp/testing/ai-sdk";
import {
  addNote,
  ai7,
  asJson,
  startLockedNotebook,
  use,
  user,
} from "../../test/sign-in-application.ts";
import { majors } from "../../test/waiting-tool.ts";
import {
  agentTool,
  type ConnectionMode,
  createDurableAgent,
  currentConnections,
  stopWhenWaiting,
  withConnections,
} from "../index.ts";

const modes: readonly (readonly [name: string, mode: ConnectionMode])[] = [
  ["inherit", "inherit"],
  ["isolate", "isolate"],
  ["named", { named: "aside" }],
  ["shared", { shared: "common" }],
];
const delegate: Turn = [{ tool: "delegate", input: { prompt: "List the notes." } }];
const options = { sessionId: "chat", ...use };

/** The two doors that a call meets: a scope that is missing, and a sign-in before the tools are listed. */
const doors = [
  ["a call", [{ tool: "work__list_notes" }]],
  ["the stand-in", [{ tool: "work__sign_in" }]],
] as const;

async function start(door: string) {
  const app = await startLockedNotebook();
  if (door === "a call") await app.signIn();
  const parked = async () =>
    (await app.waiting()).filter(({ type }) => type === "call-waits-for-sign-in");
  return { ...app, parked };
}

type App = Awaited<ReturnType<typeof start>>;
/** A step in a process of its own. @param mode of the root agent's own calls */
const step = async (
  app: App,
  before: readonly ModelMessage[],
  turns: readonly Turn[],
  {
    mode = "inherit",
    own = {},
    ai = ai7,
  }: { mode?: ConnectionMode; own?: ToolSet; ai?: typeof ai7 } = {},
) => {
  const model = scriptedModel(...turns);
  const after = await app.sessions().run("chat", use, async () =>
    withConnections({ work: mode }, async (run) => {
      const tools = { ...(await run.tools()), ...own };
      const resumed = await run.waiting.resume(before, { tools });
      const { messages } = resumed;
      if (!resumed.goesOn) return messages;
      const stop = stopWhenWaiting({ stopWhen: ({ steps }) => steps.length === 10 });
      const result = await ai.generateText({ model, messages, tools: resumed.tools, ...stop });
      return [...messages, ...(result.responseMessages ?? result.response.messages)];
    }),
  );
  return { messages: asJson(after), told: toolResults(model) };
};

describe.each(majors)("a sign-in with AI SDK $major", ({ ai }) => {
  const agentOf = (turns: readonly Turn[], tools: ToolSet) =>
    new ai.ToolLoopAgent({ model: scriptedModel(...turns), tools, ...stopWhenWaiting() });
  const delegating = (mode: ConnectionMode, turns: readonly Turn[]) =>
    agentTool({
      description: "Works.",
      connections: { work: mode },
      agent: async () => agentOf(turns, (await currentConnections().tools()) as ToolSet),
    });
  describe.each(modes)("in %s", (_, mode) => {
    test.each(doors)("waits for %s of the root agent, and goes on", async (door, turn) => {
      const app = await start(door);
      const first = await step(app, [user], [[...turn], "never"], { mode, ai });
      expect(await app.parked()).toHaveLength(1);
      await app.signIn();
      const before = app.calls().length;
      const last = await step(app, first.messages, ["Done."], { mode, ai });
      expect(last.told.join()).toMatch(door === "a call" ? /^$/ : /has signed in/);
      expect(app.calls()).toHaveLength(before + (door === "a call" ? 1 : 0));
      expect(await app.waiting()).toEqual([]);
    });

    test.each(doors)("waits for %s of a sub-agent, and goes on", async (door, turn) => {
      const app = await start(door);
      const early = { delegate: delegating(mode, [[...turn], "never"]) as never };
      const first = await step(app, [user], [delegate, "never"], { own: early, ai });
      expect(await app.parked()).toMatchObject([{ path: [{ toolName: "delegate" }] }]);
      await app.signIn();
      const late = { delegate: delegating(mode, ["No notes."]) as never };
      const last = await step(app, first.messages, ["Done."], { own: late, ai });
      expect(last.told).toEqual(["text: No notes."]);
      expect(await app.waiting()).toEqual([]);
    });
  });
});

test.each(modes.slice(2))(
  "a call in a %s session goes on there, in whichever run it is resumed",
  async (_, mode) => {
    const app = await start("a call");
    const note = addNote("a");
    await step(app, [user], [[note], "One."], { mode });
    app.signIns.revokeAll();
    const first = await step(app, [user], [[note], "never"], { mode });
    expect(await app.parked()).toHaveLength(1);
    await app.signIn();
    expect((await step(app, first.messages, ["Two."])).told).toEqual(["2 notes"]);
    expect(app.server.sessionIds).toHaveLength(2);
  },
);

test.each(modes)(
  "a result that comes while the process shuts down is told, in %s",
  async (_, mode) => {
    const app = await start("a call");
    const first = await step(app, [user], [[{ tool: "work__list_notes" }], "never"], { mode });
    await app.signIn();
    const ending: typeof fetch = async (input, init) => {
      const response = await fetch(input, init);
      if (JSON.stringify(init?.body).includes("tools/call")) void sessions.shutdown();
      return response;
    };
    const sessions = app.sessions({ connections: { work: app.connection({ fetch: ending }) } });
    let messages: readonly ModelMessage[] = [];
    const last = sessions.run("chat", use, async () =>
      withConnections({ work: mode }, async (run) => {
        const tools = await run.tools();
        ({ messages } = await run.waiting.resume(first.messages, { tools }));
      }),
    );
    await last.catch(() => undefined);
    expect(JSON.stringify(messages.at(-1))).toContain(`"type":"content"`);
    expect(JSON.stringify(messages.at(-1))).not.toContain("unknown");
  },
);

test.each(modes)("a durable agent's sub-agent waits for a sign-in in %s", async (_, mode) => {
  const app = await start("a call");
  const agent = (turns: readonly Turn[], inner: readonly Turn[]) => {
    const model = scriptedModel(...turns);
    const tool = agentTool({
      description: "Works.",
      connections: { work: mode },
      agent: async () =>
        new ai7.ToolLoopAgent({
          model: scriptedModel(...inner),
          tools: await currentConnections().tools(),
          ...stopWhenWaiting(),
        }),
    });
    const tools = { delegate: tool } as ToolSet;
    return Object.assign(createDurableAgent({ sessions: app.sessions(), model, tools }), { model });
  };
  const first = await agent(
    [delegate, "never"],
    [[{ tool: "work__list_notes" }], "never"],
  ).generate({ messages: [user], options });
  expect([first.text, first.rawFinishReason]).toEqual(["", "waiting"]);
  const messages = asJson([user, ...first.responseMessages]);
  await app.signIn();
  const last = agent(["Done."], ["No notes."]);
  expect((await last.generate({ messages, options })).text).toBe("Done.");
  expect(toolResults(last.model)).toEqual(["text: No notes."]);
  expect(await app.waiting()).toEqual([]);
});
