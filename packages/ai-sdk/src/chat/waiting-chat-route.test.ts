import { createMemoryStore, McpSessionError } from "@durable-mcp/core";
import { scriptedModel } from "@durable-mcp/testing/ai-sdk";
import { expect, test } from "vitest";
import { startAskingServer, yes } from "../../../sessions/test/asking-server.ts";
import { linesOf, problemIn, startChat } from "../../test/chat.ts";
import { startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { add, toolApproval } from "../../test/notebook-sessions.ts";
import { startSlowServer } from "../../../sessions/test/slow-server.ts";
import { defineMcpClientConnection } from "../index.ts";

const order = { tool: "shop__order", input: { item: "tea" } };

/** A chat whose server has asked. */
async function startAsked(...turns: Parameters<typeof scriptedModel>) {
  const shop = await startAskingServer();
  const { url } = shop;
  const connections = {
    shop: defineMcpClientConnection({ url, description: "Orders.", waiting: true }),
  };
  const model = scriptedModel([order], ...turns);
  const chat = startChat({ model, settings: { connections } });
  await (await chat.say("Order tea")).text();
  const { waiting } = await chat.state();
  return { shop, chat, model, call: waiting[0]!.id! };
}

test("a question is answered at the same URL, and the chat goes on", async () => {
  const { shop, chat, model, call } = await startAsked("Ordered.");
  expect((await chat.state()).waiting).toMatchObject([{ type: "question", tool: "order" }]);
  const wrong = await chat.post({ answer: { call, round: 1, responses: {} } });
  expect([wrong.status, await wrong.json()]).toEqual([
    422,
    { error: "invalid-answer", message: expect.any(String), field: expect.any(String) },
  ]);
  const bob = { user: "bob" };
  const answer = { answer: { call, round: 1, responses: yes } };
  expect(await problemIn(await chat.post(answer, bob))).toEqual([409, "not-waiting"]);
  expect(await (await chat.post(answer)).json()).toEqual({ state: "settled" });
  expect(await problemIn(await chat.post(answer))).toEqual([409, "not-waiting"]);
  await (await chat.post({})).text();
  expect(linesOf(await chat.state())).toEqual([
    "user: Order tea",
    "assistant: [shop__order output-available] Ordered.",
  ]);
  expect(shop.legs).toHaveLength(2);
  expect(model.doStreamCalls).toHaveLength(2);
  expect(await problemIn(await chat.post({}))).toEqual([409, "answered"]);
});

const now = () => Date.now() + 2e6;

test("an answer that broke off goes on while another call waits", async () => {
  const shop = await startAskingServer();
  const connections = {
    shop: defineMcpClientConnection({ url: shop.url, description: "Orders.", waiting: true }),
  };
  const store = createMemoryStore();
  const look = { tool: "shop__look", input: { item: "milk" } };
  const late = Promise.withResolvers<string>();
  const model = scriptedModel([order], [look], () => late.promise);
  const gone = startChat({ model, store, settings: { connections }, aliveMs: 1e6 });
  await (await gone.say("Order tea")).text();
  const broken = await gone.say("Look for milk");
  await expect
    .poll(async () => linesOf(await gone.state()).at(-1))
    .toMatch(/look output-available/);

  const next = startChat({
    model: scriptedModel("There is milk."),
    store,
    settings: { connections },
    now,
  });
  expect((await next.state()).answering).toBe("interrupted");
  await (await next.post({})).text();
  const last = "assistant: [shop__look output-available] There is milk.";
  expect(linesOf(await next.state()).at(-1)).toBe(last);
  late.resolve("Too late.");
  await broken.text();
  expect(linesOf(await next.state()).at(-1)).toBe(last);
});

test("a call with its record first is not lost with its process", async () => {
  const slow = await startSlowServer("stream");
  const lab = defineMcpClientConnection({
    ...{ url: slow.url, description: "A lab.", session: "stateful" },
    waiting: { record: "first" },
  });
  const store = createMemoryStore();
  const settings = { connections: { lab } };
  const research = { tool: "lab__research", input: { topic: "tea" } };
  const aliveMs = 500;
  const gone = startChat({ model: scriptedModel([research], "Late."), store, settings, aliveMs });
  void gone.say("What of tea?");
  await slow.begun();
  const held = async () => JSON.stringify(await store.list({ prefix: "", limit: 100 }));
  await expect.poll(held).toContain('"held":');

  const next = startChat({ model: scriptedModel("So much for tea."), store, settings, now });
  expect(await next.state()).toMatchObject({ answering: "interrupted", waiting: [{}] });
  expect(linesOf(await next.state())[1]).toBe("assistant: [lab__research output-available]");
  await (await next.post({})).text();
  // The process was only asleep. It sees that another one has taken its place, and leaves the call to that one.
  await new Promise((resolve) => setTimeout(resolve, 2 * aliveMs));
  slow.finish();
  await expect
    .poll(async () => {
      await (await next.post({})).text();
      return JSON.stringify((await next.state()).messages);
    })
    .toContain("All about tea");
  const answered = "assistant: [lab__research output-available] So much for tea.";
  expect(linesOf(await next.state())[1]).toBe(answered);
  expect(slow.works).toHaveLength(1);
});

test("a page that goes on too early leaves no trace", async () => {
  const { chat, call } = await startAsked("Ordered.");
  const asked = await chat.state();
  for (let look = 0; look < 3; look += 1) await (await chat.post({})).text();
  expect(await chat.state()).toEqual(asked);
  await chat.post({ answer: { call, round: 1, responses: yes } });
  await (await chat.post({})).text();
  const types = (await chat.state()).messages.at(-1)!.parts.map(({ type }) => type);
  expect(types).toEqual(["step-start", "dynamic-tool", "step-start", "text"]);
});

test("a call is taken back at the same URL", async () => {
  const { chat, call } = await startAsked("Then not.");
  expect(await (await chat.post({ withdraw: { call } })).json()).toEqual({ state: "withdrawn" });
  await (await chat.post({})).text();
  expect(linesOf(await chat.state())[1]).toMatch(/shop__order output-error.* Then not\./);
});

test("the user says something else while a call waits", async () => {
  const { chat, call } = await startAsked("4.", "Ordered, by the way.");
  await (await chat.say("2 + 2?")).text();
  await chat.post({ answer: { call, responses: yes } });
  await (await chat.post({})).text();
  expect(linesOf(await chat.state())).toEqual([
    "user: Order tea",
    "assistant: [shop__order output-available]",
    "user: 2 + 2?",
    "assistant: 4. Ordered, by the way.",
  ]);
});

test.each([
  [true, "output-available"],
  [false, "output-denied"],
])("a call that needs approval goes on with it: %s", async (approved, state) => {
  const { url } = await startNotebookServer();
  const model = scriptedModel([add("b")], "Well.");
  const chat = startChat({ url, model, settings: { toolApproval } });
  await (await chat.say("Note b")).text();
  const asked = (await chat.state()).messages.at(-1)!.parts.at(-1) as { approval: { id: string } };
  expect(await problemIn(await chat.post({}))).toEqual([409, "answered"]);
  const { id } = asked.approval;
  expect(await problemIn(await chat.post({ approval: { id: "other", approved } }))).toEqual([
    ...[409, "not-waiting"],
  ]);
  await (await chat.post({ approval: { id, approved } })).text();
  const lines = ["user: Note b", `assistant: [notes__add_note ${state}] Well.`];
  expect(linesOf(await chat.state())).toEqual(lines);
  expect(await problemIn(await chat.post({ approval: { id, approved } }))).toEqual([
    409,
    "answered",
  ]);
});

test("what the user says instead of an approval denies it", async () => {
  const { url } = await startNotebookServer();
  const model = scriptedModel([add("b")], "Then not.");
  const chat = startChat({ url, model, settings: { toolApproval } });
  await (await chat.say("Note b")).text();
  await (await chat.say("Never mind")).text();
  expect(linesOf(await chat.state())).toEqual([
    ...["user: Note b", "assistant: [notes__add_note output-denied]"],
    ...["user: Never mind", "assistant: Then not."],
  ]);
});

test("a store that is down is told as what passes", async () => {
  const { chat } = await startAsked();
  const down = new McpSessionError("STORE_FAILED", "The store is down.");
  const route = startChat({ model: scriptedModel(), principal: () => Promise.reject(down) });
  expect(await problemIn(await route.post({}))).toEqual([503, "unavailable"]);
  expect(route.errors).toEqual([down]);
  expect(chat.errors).toEqual([]);
});
