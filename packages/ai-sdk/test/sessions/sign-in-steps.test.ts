import type { ModelMessage, UIMessage } from "ai";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { type Backend, backends, startAgent } from "../agent-session.ts";
import { callsOf } from "../../../sessions/test/calls-of.ts";
import {
  addNote,
  ai7,
  asJson,
  parkCalls,
  startLockedNotebook,
  startLockedOldServer,
  startLockedShop,
  use,
  user,
} from "../sign-in-application.ts";
import { yes } from "../../../sessions/test/asking-server.ts";
import { sendText } from "../../../core/test/http-server.ts";
import { answer, on } from "../../../sessions/test/notebook-server.ts";
import { scriptedModel, toolResults, type Turn } from "@durable-mcp/testing/ai-sdk";
import { bob } from "../step.ts";
import { majors } from "../waiting-tool.ts";
import { isWaiting, stopWhenWaiting } from "../../src/messages/stop-when-waiting.ts";
import type {
  ToolApprovalCall,
  ToolApprovalStatus,
} from "../../../sessions/src/declare/tool-options.ts";

const look = (item: string) => ({ tool: "work__look", input: { item } });
const inTen = stopWhenWaiting({ stopWhen: ({ steps }) => steps.length === 10 });
const lockedDoor = {
  ...{ type: "sign-in", connection: "work", server: expect.any(String) },
  ...{ scopes: [], startUrl: "https://app.test/oauth/start", askedAt: expect.any(Number) },
};

test("a call to an old server, over HTTP+SSE, is sent once after the sign-in", async () => {
  const app = await startLockedOldServer();
  const messages = await parkCalls(app, [{ tool: "work__look", input: {} }]);
  expect(JSON.stringify(messages)).toContain("the user has to sign in to connection work first");
  app.take();
  await app.signIn();
  expect((await app.step(messages, ["Done."])).told).toEqual(["found"]);
  expect(app.calls()).toHaveLength(1);
});

describe.each(majors)("a sign-in between the steps of an agent with AI SDK $major", ({ ai }) => {
  test("with no session at all a stand-in waits, and then the tools are there", async () => {
    const app = await startLockedNotebook({ ai });
    const first = await app.step([user], [[{ tool: "work__sign_in" }]]);
    expect(first.model.doGenerateCalls).toHaveLength(1);
    const [tool, ...others] = first.model.doGenerateCalls[0]!.tools!;
    expect(tool).toMatchObject({
      name: "work__sign_in",
      description: expect.stringContaining("connection work (Work.)"),
      inputSchema: { type: "object", properties: {}, additionalProperties: false },
    });
    expect(others).toEqual([]);
    const told = app.events.filter(({ type }) => /unavailable|authorization/.test(type));
    expect(told).toMatchObject([{ type: "authorization-required", connection: "work" }]);

    const standIn = { type: "call-waits-for-sign-in", tool: "sign_in", state: "waiting" };
    expect(await app.waiting()).toEqual([lockedDoor, expect.objectContaining(standIn)]);
    const early = await app.step(first.messages);
    expect(early.model.doGenerateCalls).toEqual([]);
    expect(early.messages).toEqual(first.messages);

    await app.signIn();
    const later = await app.step(first.messages, [[addNote("tea")], "Done."]);
    expect(later.told).toEqual([
      expect.stringContaining("signed in to connection work"),
      "1 notes",
    ]);
    expect(await app.waiting()).toEqual([]);
  });

  test("on a resumed session, whose tools are kept, the call itself waits, and is sent once", async () => {
    const app = await startLockedNotebook({ ai });
    const messages = await parkCalls(app, [addNote("milk")]);
    expect(JSON.stringify(messages)).toContain("the user has to sign in to connection work first");
    expect(app.take().sent).toEqual(["POST tools/call"]);
    const [door, call] = await app.waiting();
    expect(door).toEqual(lockedDoor);
    const parked = { type: "call-waits-for-sign-in", state: "waiting", tool: "add_note", round: 0 };
    expect(call).toMatchObject({ ...parked, requests: {}, id: expect.any(String) });

    await app.signIn();
    expect(await app.waiting()).toEqual([call]);
    expect((await app.step(messages, ["Done."])).told).toEqual(["1 notes"]);
    expect(app.take().sent).toEqual(["POST tools/call"]);
    // The session is the same.
    expect(app.server.sessionIds).toHaveLength(1);
    expect(await app.waiting()).toEqual([]);
  });

  test("several calls in one message wait together, and find their places in UI messages", async () => {
    const app = await startLockedShop({ ai });
    const messages = await parkCalls(app, [look("tea"), look("milk")]);
    expect(callsOf(await app.waiting())).toHaveLength(2);
    await app.signIn();
    app.take();
    const resumed = await app.sessions().run("chat", use, async (run) => {
      const parts = callsOf(await run.waiting.list()).map((call) => ({
        ...{ type: "dynamic-tool", toolName: `work__${call.tool}`, toolCallId: call.toolCallId! },
        ...{ state: "output-available", input: { item: "tea" } },
        output: { content: [], _meta: { "durable-mcp/waiting": call } },
      }));
      parts[1]!.input = { item: "milk" };
      const ui = [{ id: "1", role: "assistant", parts }] as unknown as UIMessage[];
      return await run.waiting.resume(ui, { tools: await run.tools() });
    });
    expect(resumed.resumed.map(({ state }) => state)).toEqual(["settled", "settled"]);
    expect(JSON.stringify(resumed.messages)).toMatch(/look tea is done.*look milk is done/);
    const { told } = await app.step(messages, ["Done."]);
    expect(told).toEqual(["look tea is done.", "look milk is done."]);
    expect(app.calls()).toHaveLength(2);
  });
});

test("what it costs: two writes for a call that waits; two reads, six writes and the call for its end", async () => {
  const app = await startLockedNotebook();
  await app.signIn();
  await app.step([user], ["Hello."]);
  app.take();
  await app.step([user], [[addNote("a")], "Done."]);
  const plain = app.take();
  app.signIns.revokeAll();
  const { messages } = await app.step([user], [[addNote("b")]]);
  const parked = app.take();
  expect(count(parked.stored)).toEqual(plus(plain.stored, { put: 2 }));
  expect(parked.sent).toEqual(plain.sent);
  await app.signIn();
  await app.step(messages, ["Done."]);
  const resumed = app.take();
  expect(resumed.sent).toEqual(["POST tools/call"]);
  expect(count(resumed.stored)).toEqual(plus(plain.stored, { get: 2, put: 4, delete: 2 }));
});

function count(operations: readonly string[]) {
  const of = (name: string) => operations.filter((each) => each === name).length;
  return { get: of("get"), put: of("put"), delete: of("delete"), list: of("list") };
}

function plus(operations: readonly string[], more: Partial<ReturnType<typeof count>>) {
  const counted = Object.entries(count(operations)) as [keyof typeof more, number][];
  return Object.fromEntries(counted.map(([name, times]) => [name, times + (more[name] ?? 0)]));
}

describe("a call that waits for a sign-in", () => {
  test("waits again if the server refuses it again, for the same reason or for a scope", async () => {
    const app = await startLockedNotebook();
    const messages = await parkCalls(app, [{ tool: "work__list_notes" }]);
    await app.signIn();
    app.signIns.revokeAll();
    const again = await app.step(messages);
    expect(again.model.doGenerateCalls).toEqual([]);
    expect(again.messages).toEqual(messages);
    expect(await app.waiting()).toMatchObject([{ scopes: [] }, { state: "waiting" }]);

    await app.signIn();
    await app.step(messages);
    expect(await app.waiting()).toMatchObject([{ scopes: ["notes.read"] }, { state: "waiting" }]);
    expect(app.calls()).toHaveLength(3);
    await app.signIn();
    expect((await app.step(messages, ["Done."])).told).toEqual([""]);
    expect(app.calls()).toHaveLength(4);
  });

  test("has an unknown outcome if its process is gone after the claim, and is not sent again", async () => {
    const app = await startLockedNotebook();
    const messages = await parkCalls(app, [{ tool: "work__wait" }]);
    await app.signIn();
    app.take();
    // The process is gone: it gives no sign of life to those that come a minute later.
    const hung = app.step(messages, ["Done."]).catch(() => undefined);
    await expect.poll(() => app.server.waits).toEqual(["started"]);
    const during = await app.step(messages);
    // The user has signed in, and nobody asks for it again.
    expect(JSON.stringify(during.messages)).toContain("or has perhaps sent it. It has not failed.");
    expect(JSON.stringify(during.messages)).not.toContain("Ask the user to sign in");
    const later = app.sessions({ now: () => Date.now() + 120_000 });
    const { told } = await app.step(messages, ["I check."], later);
    expect(told).toEqual([expect.stringContaining("carried out is unknown; check before")]);
    app.server.release();
    await hung;
    expect(app.calls()).toHaveLength(1);
  });

  test("has an unknown outcome after a gateway's 503, and is not sent again", async () => {
    const app = await startLockedNotebook();
    const messages = await parkCalls(app, [addNote("tea")]);
    await app.signIn();
    let calls = 0;
    app.server.intercept(
      on("tools/call", (_, response) => {
        calls += 1;
        sendText(response, 503);
      }),
    );
    const { told } = await app.step(messages, ["I check."]);
    expect(told).toEqual([expect.stringContaining("carried out is unknown; check before")]);
    expect(calls).toBe(1);
  });

  test("that is settled, by a step that died before it saved, is delivered in the next", async () => {
    const app = await startLockedNotebook();
    const messages = await parkCalls(app, [addNote("tea")]);
    await app.signIn();
    await app.step(messages, ["Lost."]);
    app.take();
    expect((await app.step(messages, ["Done."])).told).toEqual(["1 notes"]);
    expect(app.calls()).toEqual([]);
  });

  test("is nobody else's, and not another call than in the message", async () => {
    const app = await startLockedNotebook();
    const messages = await parkCalls(app, [addNote("tea")]);
    await app.signIn();
    const principal = bob;
    expect(callsOf(await app.sessions().waiting("chat", { principal }))).toEqual([]);
    const forged = asJson(messages);
    Object.assign((forged[1]!.content as { input: object }[])[0]!.input, { text: "all" });
    app.take();
    const { told } = await app.step(forged, ["Hm."]);
    expect(told).toEqual([expect.stringContaining("it is another call than this one")]);
    expect(app.calls()).toEqual([]);
    expect((await app.step(messages, ["Done."])).told).toEqual(["1 notes"]);
  });

  test("goes on where the server then asks a person something", async () => {
    const app = await startLockedShop({ waiting: true });
    const messages = await parkCalls(app, [{ tool: "work__order", input: { item: "tea" } }]);
    const [parked] = callsOf(await app.waiting());
    await app.signIn();
    const asked = await app.step(messages);
    expect(asked.messages).toEqual(messages);
    const [call] = callsOf(await app.waiting());
    expect(call).toMatchObject({ id: parked!.id, type: "question", round: 1 });
    await app.sessions().answer("chat", call!.id, yes, use);
    expect((await app.step(messages, ["Done."])).told).toEqual(["order tea is done."]);
    expect(app.server.legs).toHaveLength(2);
    expect(app.calls()).toHaveLength(3);
  });
});

/** A step that goes on with what has waited, in a process of its own. */
async function startSteps(backend: Backend) {
  const app = await startLockedNotebook();
  const agent = startAgent(backend, { work: app.connection() });
  const converse = async (before: ModelMessage[], ...turns: Turn[]) => {
    const model = scriptedModel(...turns);
    const messages = await agent.step(async (run) => {
      const tools = await run.tools();
      const { messages: resumed, stillWaiting } = await run.waiting.resume(before, { tools });
      if (stillWaiting.length > 0) return resumed;
      const said = await ai7.generateText({ model, tools, messages: resumed, ...inTen });
      return [...resumed, ...said.responseMessages];
    });
    return { messages: asJson(messages), told: toolResults(model) };
  };
  return { ...app, agent, converse };
}

describe.each(backends)("a call that waits for a sign-in in %s", (backend) => {
  test("goes on, is sent once by two processes at once, and takes no answer", async () => {
    const { agent, converse, signIn, signIns, take, calls } = await startSteps(backend);
    await signIn();
    await converse([user], "Hello.");
    signIns.revokeAll();
    const { messages } = await converse([user], [addNote("tea")]);
    const { startUrl } = signIns;
    const entries = await agent.waiting();
    expect(entries).toMatchObject([
      { type: "sign-in", connection: "work", startUrl },
      {
        type: "call-waits-for-sign-in",
        id: expect.any(String),
        tool: "add_note",
        state: "waiting",
      },
    ]);
    const [call] = callsOf(entries);
    const refusal = {
      code: "NOT_WAITING",
      message: expect.stringContaining(`at ${startUrl}`),
      data: { startUrl, state: "waiting" },
    };
    await expect(agent.answer(call!.id, {})).rejects.toMatchObject(refusal);
    const inStep = agent.step((run) => run.waiting.answer(call!.id, {}));
    await expect(inStep).rejects.toMatchObject(refusal);

    await signIn();
    take();
    const goOn = () => converse(messages, "Done.");
    const outcomes = await Promise.all([goOn(), goOn()]);
    expect(calls()).toHaveLength(1);
    // A process that looks after the other one has settled the call is told the same.
    expect(new Set(outcomes.flatMap(({ told }) => told))).toEqual(new Set(["1 notes"]));
  });

  test("and a stand-in, can be withdrawn", async () => {
    const { agent, converse, signIn, signIns, take, calls } = await startSteps(backend);
    const { messages } = await converse([user], [{ tool: "work__sign_in" }]);
    await agent.withdraw(callsOf(await agent.waiting())[0]!.id);
    const { told } = await converse(messages, "Then not.");
    expect(told).toEqual([expect.stringContaining("has taken the call back")]);

    await signIn();
    await converse([user], "Hello.");
    signIns.revokeAll();
    const parked = await converse([user], [addNote("tea")]);
    await agent.withdraw(callsOf(await agent.waiting())[0]!.id);
    await signIn();
    take();
    const later = await converse(parked.messages, "Then not.");
    expect(later.told).toEqual([expect.stringContaining("has taken the call back")]);
    expect(calls()).toEqual([]);
  });
});

test("the agent loop of AI SDK can stop with isWaiting()", async () => {
  const app = await startLockedNotebook();
  for (const { ai } of majors) {
    const model = scriptedModel([{ tool: "work__sign_in" }], "never");
    await app.sessions().run(`chat ${ai === ai7}`, use, async (run) => {
      await ai.generateText({
        model,
        tools: await run.tools(),
        messages: [user],
        stopWhen: [isWaiting()],
      });
    });
    expect(model.doGenerateCalls).toHaveLength(1);
  }
});

/** A call that waits, of a tool whose annotations may change, under a policy that may change its mind. */
async function startParked() {
  const policy = { status: "approved" as ToolApprovalStatus, calls: [] as ToolApprovalCall[] };
  const tool = { annotations: { readOnlyHint: true } };
  const approval = (call: ToolApprovalCall) => {
    policy.calls.push(call);
    return policy.status;
  };
  const ran: string[] = [];
  const app = await startLockedNotebook(
    { approval },
    {
      setUp: (mcp) =>
        mcp.registerTool("add_note", { ...tool, inputSchema: { text: z.string() } }, (input) => {
          ran.push(input.text);
          return answer("noted");
        }),
    },
  );
  const messages = await parkCalls(app, [addNote("milk")]);
  await app.signIn();
  policy.calls.length = 0;
  app.take();
  return { app, messages, policy, tool, ran };
}

/** The server has another tool from now on. */
const change = ({ app, tool }: Awaited<ReturnType<typeof startParked>>) => {
  tool.annotations = { readOnlyHint: false };
  app.server.forgetSessions();
};

describe("a call with an approval that waits for a sign-in", () => {
  test("is decided on again when it runs, and asks nobody again for the same", async () => {
    const { app, messages, policy, ran } = await startParked();
    policy.status = "user-approval";
    expect((await app.step(messages, ["Done."])).told).toEqual(["noted"]);
    expect(ran).toEqual(["milk"]);
    expect(policy.calls).toMatchObject([
      { tool: "add_note", toolName: "work__add_note", toolInput: { text: "milk" } },
    ]);
    expect(app.take().sent).toEqual(["POST tools/call"]);
  });

  test("does not run if it is denied by now", async () => {
    const { app, messages, policy, ran } = await startParked();
    policy.status = { type: "denied", reason: "Not at night." };
    expect((await app.step(messages, ["Done."])).told).toEqual(["Not at night."]);
    expect(ran).toEqual([]);
  });

  test("asks again if its tool's annotations have changed, and runs if nobody is to be asked", async () => {
    for (const status of ["user-approval", "not-applicable"] as const) {
      const parked = await startParked();
      const { app, messages, policy, ran } = parked;
      change(parked);
      policy.status = status;
      await app.sessions().restart("chat", use);
      const { told } = await app.step(messages, ["Done."]);
      expect(told).toEqual([
        expect.stringContaining(status === "user-approval" ? "has to approve the call" : "noted"),
      ]);
      expect(ran).toEqual(status === "user-approval" ? [] : ["milk"]);
    }
  });

  test("asks again if the session, and with it the tool, is replaced on its way", async () => {
    const parked = await startParked();
    const { app, messages, policy, ran } = parked;
    change(parked);
    policy.status = "user-approval";
    const { told } = await app.step(messages, ["Done."]);
    expect(told).toEqual([expect.stringContaining("has to approve the call now")]);
    expect(ran).toEqual([]);
  });
});
