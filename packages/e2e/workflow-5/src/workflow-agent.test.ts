import { defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { expect, test, vi } from "vitest";
import { resumeHook } from "workflow/api";
import { callsOf } from "../../../sessions/test/calls-of.ts";
import { startAskingServer, yes } from "../../../sessions/test/asking-server.ts";
import { startLockedNotebook } from "../../../ai-sdk/test/sign-in-application.ts";
import { on, startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { setConnections } from "./app/connections.ts";
import { steps, useTestApp } from "./test-app.ts";
import { toolOutputs } from "./tool-outputs.ts";

const app = useTestApp("workflow-agent");
const alice = { type: "user", issuer: "https://idp.test", id: "alice" } as const;
const patience = { timeout: 20_000, interval: 100 };
const add = (text: string) => ({ tool: "notes__add_note", input: { text } });
const list = { tool: "notes__list_notes" };
const text = (value: string) => ({ type: "content", value: [{ type: "text", text: value }] });

async function startNotes() {
  const server = await startNotebookServer();
  const session = "stateful";
  setConnections({
    notes: defineMcpClientConnection({ url: server.url, description: "Notes.", session }),
  });
  return server;
}

async function turn(turns: unknown, options: object = {}) {
  const prompt = JSON.stringify(turns);
  return await app.begin("agentTurn", { principal: alice, prompt, ...options });
}

test("a WorkflowAgent calls tools, several at once, on one session", async () => {
  const server = await startNotes();
  const run = await turn([[add("milk")], [add("bread"), add("eggs")], [list]]);
  const outputs = toolOutputs((await run.returnValue).messages);
  expect(outputs[0]).toEqual(text("1 notes"));
  expect(outputs[3].value[0].text.split(", ").toSorted()).toEqual(["bread", "eggs", "milk"]);
  expect(server.sessionIds).toHaveLength(1);
});

test("calls that lose the session together go on in one other, and the model is told once", async () => {
  const server = await startNotes();
  let calls = 0;
  server.intercept(
    on("tools/call", () => {
      calls += 1;
      if (calls === 2) server.forgetSessions();
      return "next";
    }),
  );
  const run = await turn([[add("milk")], [add("a"), add("b"), add("c")], [list]]);
  const outputs = toolOutputs((await run.returnValue).messages);
  const told = outputs.filter((output) => JSON.stringify(output).includes("had lost the session"));
  expect(told).toHaveLength(1);
  expect(outputs.at(-1).value[0].text.split(", ").toSorted()).toEqual(["a", "b", "c"]);
  expect(server.sessionIds).toHaveLength(2);
});

test("it is told that an outcome is unknown", async () => {
  const server = await startNotes();
  server.intercept(on("tools/call", (_, response) => void response.destroy()));
  const { messages } = await (await turn([[add("milk")]])).returnValue;
  expect(toolOutputs(messages)[0]).toMatchObject({
    value: expect.stringContaining("OUTCOME_UNKNOWN: tools/call"),
  });
});

test("it stops for an approval, and goes on in the session; so does a second run of the chat", async () => {
  const server = await startNotes();
  const approval = { tool: "notes__add_note", token: "approve-5" };
  const run = await turn([[list], [add("milk")], [list]], { approval });
  await vi.waitFor(async () => await resumeHook("approve-5", { approved: true }), patience);
  const first = await run.returnValue;
  expect(toolOutputs(first.messages).map((output) => output.value[0].text)).toContain("1 notes");

  const second = await (await turn([[list]], { state: first.state })).returnValue;
  expect(toolOutputs(second.messages)).toEqual([text("milk")]);
  expect(server.sessionIds).toHaveLength(1);
});

test("it sleeps, and goes on in the session", async () => {
  const server = await startNotes();
  const run = await turn([[list]], { sleepMs: 86_400_000 });
  await vi.waitFor(async () => expect((await run.wakeUp()).stoppedCount).toBe(1), patience);
  expect(toolOutputs((await run.returnValue).messages)).toEqual([text("")]);
  expect(server.sessionIds).toHaveLength(1);
});

test("it sleeps until a person has answered the server, and sees the final result alone", async () => {
  const { url, legs } = await startAskingServer();
  const shop = { url, description: "A shop.", waiting: true } as const;
  setConnections({ shop: defineMcpClientConnection(shop) });
  const orders = ["tea", "milk"].map((item) => ({ tool: "shop__order", input: { item } }));
  const run = await turn([orders], { connections: ["shop"] });
  const owner = { principal: alice };
  const asked = await vi.waitFor(async () => {
    const calls = callsOf(await steps.waiting(run.runId, owner));
    expect(calls).toHaveLength(2);
    return calls;
  }, patience);
  await Promise.all(asked.map(({ id }) => steps.answer(run.runId, id, yes, owner)));
  const { messages } = await run.returnValue;
  expect(toolOutputs(messages)).toEqual([text("order tea is done."), text("order milk is done.")]);
  expect(legs).toHaveLength(4);
});

test("it sleeps until the user has signed in, and has the tools then", async () => {
  const work = await startLockedNotebook();
  setConnections({ work: work.connection() });
  const note = { tool: "work__add_note", input: { text: "tea" } };
  const run = await turn([[{ tool: "work__sign_in" }], [note]], { connections: ["work"] });
  const owner = { principal: alice };
  const [door, call] = await vi.waitFor(async () => {
    const entries = await steps.waiting(run.runId, owner);
    expect(entries).toHaveLength(2);
    return entries;
  }, patience);
  expect([door, call]).toMatchObject([{ connection: "work" }, { tool: "sign_in", round: 0 }]);
  await work.signIn();
  await Promise.all([steps.wake(run.runId, owner), steps.wake(run.runId, owner)]);
  const outputs = toolOutputs((await run.returnValue).messages);
  expect(outputs[0].value[0].text).toContain("The user has signed in");
  expect(outputs[1]).toEqual(text("1 notes"));
  expect(work.server.sessionIds).toHaveLength(1);
});
