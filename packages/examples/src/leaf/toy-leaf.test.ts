import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { cartServer, startServer } from "../programs/start-server.ts";
import { createFolderStore } from "../store/folder-store.ts";
import { runToyAgent, type ToyMessage, type ToyModel } from "./toy-framework.ts";
import { createToySessions, defineToyConnection, pausesForCall } from "./toy-leaf.ts";

const folder = mkdtempSync(join(tmpdir(), "durable-mcp-leaf-"));
const delivery = new URL("../servers/delivery-server.ts", import.meta.url);
const servers = {
  cart: await startServer(cartServer),
  delivery: await startServer(delivery),
};
afterAll(() => {
  for (const { child } of Object.values(servers)) child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

const principal = { type: "user", issuer: "https://idp.example", id: "42" } as const;

/** Sessions as a process makes them: another one has the same folder, and nothing else. */
function openSessions() {
  const cart = defineToyConnection({
    ...{ url: servers.cart.url, description: "A cart.", session: "stateful" },
    approval: ({ toolName }) => toolName === "cart__remove_item",
  });
  const shop = defineToyConnection({
    ...{ url: servers.delivery.url, description: "Orders.", waiting: true },
  });
  const store = createFolderStore(folder);
  return createToySessions({ connections: { cart, shop }, store });
}

/** Calls a tool, and says what came out. */
const callOnce =
  (call: string, input: object): ToyModel =>
  (messages) => {
    const last = messages.at(-1);
    return last?.by === "tool" ? { say: String(last.output) } : { call, input };
  };

/** One step of a chat. */
async function step(chat: string, model: ToyModel, before: readonly ToyMessage[]) {
  return await openSessions().run(chat, { principal }, async (run) => {
    const tools = await run.tools();
    const { messages, goesOn } = await run.waiting.resume(before, { tools });
    const after = goesOn ? await runToyAgent(model, tools, messages, pausesForCall) : messages;
    // As a database would have them.
    return { tools, messages: JSON.parse(JSON.stringify(after)) as ToyMessage[] };
  });
}

test("lists the tools, and calls them in one session over several steps", async () => {
  const ask = [{ by: "user", text: "Apples, please." }] as const;
  const first = await step("list", callOnce("cart__add_item", { item: "apples" }), ask);
  expect(Object.keys(first.tools).toSorted()).toEqual([
    ...["cart__add_item", "cart__list_items", "cart__remove_item", "shop__order"],
  ]);
  expect(first.tools["cart__add_item"]).toMatchObject({
    about: "Adds an item to the cart.",
    input: { properties: { item: { type: "string" } } },
  });
  const second = await step("list", callOnce("cart__list_items", {}), [
    ...first.messages,
    { by: "user", text: "What do I have?" },
  ]);
  expect(second.messages.at(-1)).toEqual({ by: "model", text: "The cart holds apples." });
});

test("makes no call that a person would have to approve", async () => {
  const { messages } = await step("asks", callOnce("cart__remove_item", { item: "apples" }), []);
  expect(messages.at(-1)).toMatchObject({ text: expect.stringContaining("has to approve") });
});

test("a call that asks a person waits, and its result comes into a later step", async () => {
  const model = callOnce("shop__order", { item: "tea" });
  const asked = await step("order", model, [{ by: "user", text: "Order tea." }]);
  expect(asked.messages).toHaveLength(2);
  expect(pausesForCall((asked.messages[1] as { output?: unknown }).output)).toBe(true);
  // Nobody has answered: the agent does not go on.
  expect((await step("order", model, asked.messages)).messages).toEqual(asked.messages);

  const sessions = openSessions();
  const answers = { confirm: { ok: true }, delivery: { time: "12:00" } };
  for (const content of Object.values(answers)) {
    const [entry] = await sessions.waiting("order", { principal });
    if (entry?.type !== "question") throw new Error("No question waits.");
    const [key] = Object.keys(entry.requests);
    await sessions.answer(
      ...(["order", entry.id, { [key!]: { action: "accept", content } }] as const),
      { principal, round: entry.round },
    );
  }
  const { messages } = await step("order", model, asked.messages);
  expect(messages.at(-1)).toEqual({ by: "model", text: "Your tea comes at 12:00." });
  expect(messages).toHaveLength(3);
});

test("a model is told of a lost session, and gets an error for the placeholder of another chat", async () => {
  const model = callOnce("cart__list_items", {});
  const ask = [{ by: "user", text: "Look." }] as const;
  await step("lost", model, ask);
  servers.cart.child.kill("SIGKILL");
  await once(servers.cart.child, "exit");
  servers.cart = await startServer(cartServer, servers.cart.port);
  const { messages } = await step("lost", model, ask);
  expect(messages.at(-1)).toMatchObject({ text: expect.stringMatching(/empty.*\n.*session/is) });

  const waits = await step("real", callOnce("shop__order", { item: "tea" }), ask);
  const copied = await step("other", () => ({ say: "Done." }), waits.messages);
  expect(copied.messages[1]).toMatchObject({
    output: expect.stringContaining("not kept any more"),
  });
});
