import { createDurableAgent, defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { createMemoryStore } from "@durable-mcp/core";
import type { ModelMessage } from "ai";
import { afterAll, beforeAll, expect, test } from "vitest";
import { scriptedModel, toolResults, type Turn } from "../../../ai-sdk/test/scripted-model.ts";
import { type AskingServer, startAskingServer } from "../servers/asking.ts";

let server: AskingServer;
beforeAll(async () => {
  server = await startAskingServer({ auth: ["ada"] });
});
afterAll(() => server?.stop());

const principal = { type: "user", issuer: "https://idp.test", id: "ada" } as const;
const options = { sessionId: "chat", principal };
const accept = (content: Record<string, unknown>) => ({ action: "accept" as const, content });
const order = (item: string) => ({ tool: "shop__place_order_typed", input: { item } });
const answers = [{ confirm: accept({ ok: true }) }, { delivery: accept({ time: "12:00" }) }];

test("a durable agent orders when a person has said yes and when, each leg once", async () => {
  const store = createMemoryStore();
  /** One request of a chat, as a process of its own runs it. */
  const agent = (...turns: Turn[]) => {
    const model = scriptedModel(...turns);
    const shop = defineMcpClientConnection({
      ...{ url: server.url, description: "A shop.", input: "pause" },
      auth: { getToken: () => ({ token: "ada" }) },
    });
    return Object.assign(createDurableAgent({ connections: { shop }, store, model }), { model });
  };
  const messages: ModelMessage[] = [{ role: "user", content: "Order tea and milk." }];
  const first = await agent([order("tea"), order("milk")], "never").generate({
    ...{ messages, options },
  });
  expect(first).toMatchObject({ text: "", rawFinishReason: "waiting" });
  messages.push(...(JSON.parse(JSON.stringify(first.responseMessages)) as ModelMessage[]));

  for (const [index, responses] of answers.entries()) {
    const early = agent("never");
    expect(await early.generate({ messages, options })).toMatchObject({ text: "" });
    expect(early.model.doGenerateCalls).toEqual([]);
    const { sessions } = agent();
    const entries = await sessions.waiting("chat", { principal });
    const calls = entries.filter((entry) => entry.id !== undefined);
    expect(calls.map(({ round }) => round)).toEqual([index + 1, index + 1]);
    const answering = calls.map(({ id }) => sessions.answer("chat", id, responses, { principal }));
    await Promise.all(answering);
  }

  const last = agent("Both come at noon.");
  expect(await last.generate({ messages, options })).toMatchObject({ text: "Both come at noon." });
  expect(toolResults(last.model).map((said) => said.includes("comes at 12:00."))).toEqual([
    true,
    true,
  ]);
  expect(server.legs()).toHaveLength(6);
  const ordered = server.orders().map(({ item, time }) => `${item} ${time}`);
  expect(ordered.toSorted()).toEqual(["milk 12:00", "tea 12:00"]);

  await agent().sessions.end("chat", { principal });
  expect((await store.list({ limit: 9 })).records).toEqual([]);
});
