/** What a call may wait for, beside a question of revision 2026-07-28. */
import { setTimeout } from "node:timers/promises";
import { createMemoryStore } from "@durable-mcp/core";
import type { WaitingCall } from "@durable-mcp/core/waiting";
import { Agent, run as runAgent } from "@openai/agents";
import { functionCall, ScriptedModel } from "@openai/agents/testing";
import { expect, test } from "vitest";
import { type SlowKind, slowKinds, startSlowServer } from "../../sessions/test/slow-server.ts";
import { startSseServer } from "../../sessions/test/sse-server.ts";
import { order, results, says, startShop, sure, user, yes } from "../test/shop-agent.ts";
import { bindAgentsTools, createDurableSessions, defineMcpClientConnection } from "./index.ts";

const connection = { session: "stateful" } as const;
const onElicitation = () => yes.sure;

test("a question that is answered within the step", async () => {
  for (const own of [{}, connection]) {
    const options = { ...own, waiting: undefined, onElicitation };
    const { step, items, server } = await startShop([[order("tea")], says("Done.")], options);
    server.ask("order", [sure]);
    expect((await step()).text).toBe("Done.");
    expect(items()).toEqual(["order tea"]);
  }
});

test("a sign-in: the call is made once, when the user has signed in", async () => {
  const shop = await startShop([[order("tea")], [order("milk")], says("Done.")], connection);
  const { step, items, server, oauth, signIn } = shop;
  const auth = { definition: { auth: oauth } };
  const { consent } = server.requireSignIn();
  await signIn(consent);
  const first = await step(undefined, auth);
  expect(first.text).toBe("Done.");
  expect(items()).toEqual(["order tea", "order milk"]);
});

test("a sign-in that is missing: the call waits for it, and is made once", async () => {
  const shop = await startShop([[order("tea")], says("Done."), says("Done.")], connection);
  const { step, items, server, oauth, signIn, model } = shop;
  const auth = { definition: { auth: oauth } };
  await step(undefined, { ...auth, run: async (agent) => await listed(agent) });
  const { consent } = server.requireSignIn();
  const asked = await step(undefined, auth);
  expect(asked.held).toMatchObject([{ callId: "call-tea", state: "waits" }]);
  expect((await step(asked.saved, auth)).goesOn).toBe(false);
  await signIn(consent);
  // The process that has gone on dies before it saves: another one finds the result, and sends nothing.
  const died = await step(asked.saved, auth);
  expect(died.text).toBe("Done.");
  const done = await step(asked.saved, auth);
  expect(results(done.result!.history)).toEqual({ "call-tea": "Ordered tea." });
  expect(items()).toEqual(["order tea"]);
  expect(model.remainingSteps).toBe(0);
});

/** Has the tools listed, without a call. */
async function listed(agent: Agent<any, any>) {
  return await runAgent(agent.clone({ model: new ScriptedModel([says("Nothing.")]) }), "Look.");
}

/** A lab whose server works for long, and an application in which each step is a process of its own. */
async function startLab(kind: SlowKind) {
  const lab = await startSlowServer(kind);
  const store = createMemoryStore();
  const research = functionCall("lab__research", { topic: "tea" }, { callId: "call-tea" });
  const model = new ScriptedModel([[research], says("Done.")]);
  const session = kind === "task of 2026-07-28" ? "stateless" : "stateful";
  const own = { url: lab.url, description: "A lab.", waiting: { afterMs: 150 }, session } as const;
  const connections = { lab: defineMcpClientConnection(own) };
  const sessions = () => createDurableSessions({ connections, store });
  const step = async (saved?: string) =>
    await sessions().run("chat", { principal: user }, async (run) => {
      const { tools, load, save, held } = await bindAgentsTools(run, saved);
      const agent = new Agent({ name: "lab", model, tools });
      const { input = "Research.", goesOn } = await load(agent);
      const result = goesOn ? await runAgent(agent, input) : undefined;
      const [waits] = await run.waiting.list();
      return { result, waits, saved: result ? await save(result) : saved!, held: await held() };
    });
  /** Steps until there is what a test waits for. */
  const until = async (
    last: Awaited<ReturnType<typeof step>>,
    isThere: (now: Awaited<ReturnType<typeof step>>) => boolean,
  ) => {
    let now = last;
    for (let looks = 0; looks < 40 && !isThere(now); looks += 1) {
      await setTimeout(100);
      now = await step(now.saved);
    }
    return now;
  };
  const answer = async ({ id }: { id?: string | undefined }, responses: object) =>
    await sessions().answer("chat", id!, responses as never, { principal: user });
  return { lab, step, until, answer };
}

test.each(slowKinds)("work that takes long, and asks: a %s", async (kind) => {
  const { lab, step, until, answer } = await startLab(kind);
  const working = await step();
  expect(working.held).toMatchObject([{ callId: "call-tea", state: "waits" }]);
  lab.ask();
  const asked = await until(working, ({ waits }) => waits?.type === "question");
  expect(asked.held).toMatchObject([{ callId: "call-tea", state: "waits" }]);
  const { requests } = asked.waits as WaitingCall;
  await answer(asked.waits!, {
    [Object.keys(requests)[0]!]: { action: "accept", content: { year: "1773" } },
  });
  lab.finish();
  const done = await until(asked, ({ held }) => held.length === 0);
  expect(results(done.result!.history)).toEqual({ "call-tea": "All about tea in 1773." });
  expect(lab.works).toHaveLength(1);
});

test("a model is told of a session that was lost, once", async () => {
  const { step, server } = await startShop(
    [[order("tea")], says("1"), [order("milk")], says("2"), [order("rice")], says("3")],
    connection,
  );
  await step();
  server.forgetSessions();
  const told = results((await step()).result!.history)["call-milk"];
  expect(told).toMatch(/^Ordered milk\.\n.*session/s);
  expect(results((await step()).result!.history)).toEqual({ "call-rice": "Ordered rice." });
});

test("a server that only knows HTTP+SSE", async () => {
  const server = await startSseServer(404);
  const connections = {
    old: defineMcpClientConnection({ url: server.url, description: "An old one." }),
  };
  const sessions = createDurableSessions({ connections, store: createMemoryStore(), onEvent() {} });
  const names = await sessions.run("chat", { principal: user }, async (run) => {
    const { tools } = await bindAgentsTools(run);
    return tools.map(({ name }) => name);
  });
  expect(names.length).toBeGreaterThan(0);
});
