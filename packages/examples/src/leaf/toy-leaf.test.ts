import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SessionStore } from "@durable-mcp/core";
import { waitingCallOf } from "@durable-mcp/core/waiting";
import { type McpClientConnectionOptions, McpSessionError } from "@durable-mcp/sessions";
import { createFaultyStore } from "@durable-mcp/testing";
import { afterAll, expect, onTestFinished, test } from "vitest";
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

/** Whether the user of the cart is signed in. */
let isSignedIn = true;
const auth = {
  getToken() {
    if (isSignedIn) return { token: "a token" };
    throw new McpSessionError("AUTHORIZATION_REQUIRED", "Sign in.", {
      data: { reason: "authorization-required", connection: "cart", scopes: [], startUrl: "/" },
    });
  },
  authorizationFor: () => (isSignedIn ? undefined : { scopes: [], startUrl: "/", askedAt: 0 }),
};

/** Sessions as a process makes them: another one has the same folder, and nothing else. */
function openSessions(
  ofShop: Partial<McpClientConnectionOptions> = { waiting: true },
  options: { readonly store?: SessionStore; readonly closeTimeoutMs?: number } = {},
) {
  const cart = defineToyConnection({
    ...{ url: servers.cart.url, description: "A cart.", session: "stateful", auth },
    approval: ({ toolName }) => toolName === "cart__remove_item",
  });
  const shop = defineToyConnection({
    ...{ url: servers.delivery.url, description: "Orders.", ...ofShop },
  });
  const store = createFolderStore(folder);
  return createToySessions({ connections: { cart, shop }, store, onEvent() {}, ...options });
}

/** Calls a tool, and says what came out. */
const callOnce =
  (call: string, input: object): ToyModel =>
  (messages) => {
    const last = messages.at(-1);
    return last?.by === "tool" ? { say: String(last.output) } : { call, input };
  };

/** One step of a chat. */
async function step(
  chat: string,
  model: ToyModel,
  before: readonly ToyMessage[],
  sessions = openSessions(),
) {
  return await sessions.run(chat, { principal }, async (run) => {
    const tools = await run.tools();
    const { messages, goesOn } = await run.waiting.resume(before, { tools });
    const after = goesOn ? await runToyAgent(model, tools, messages, pausesForCall) : messages;
    // As a database would have them.
    return { tools, messages: JSON.parse(JSON.stringify(after)) as ToyMessage[] };
  });
}

async function restartCart() {
  servers.cart.child.kill("SIGKILL");
  await once(servers.cart.child, "exit");
  servers.cart = await startServer(cartServer, servers.cart.port);
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
  await restartCart();
  const { messages } = await step("lost", model, ask);
  expect(messages.at(-1)).toMatchObject({ text: expect.stringMatching(/empty.*\n.*session/is) });

  const waits = await step("real", callOnce("shop__order", { item: "tea" }), ask);
  const copied = await step("other", () => ({ say: "Done." }), waits.messages);
  expect(copied.messages[1]).toMatchObject({
    output: expect.stringContaining("not kept any more"),
  });
});

test("a question is answered within the step by the application's function", async () => {
  const answers: Record<string, object> = { "When shall tea come?": { time: "09:00" } };
  const onElicitation: McpClientConnectionOptions["onElicitation"] = ({ params }) => ({
    action: "accept",
    content: { ...(answers[params.message] ?? { ok: true }) },
  });
  const model = callOnce("shop__order", { item: "tea" });
  const { messages } = await step("asked", model, [], openSessions({ onElicitation }));
  expect(messages.at(-1)).toEqual({ by: "model", text: "Your tea comes at 09:00." });
});

test("a call that waits for a sign-in has its placeholder anew, and tells of a session lost meanwhile", async () => {
  const model = callOnce("cart__list_items", {});
  await step("sign-in", model, []);
  isSignedIn = false;
  const asked = await step("sign-in", model, []);
  const [waits] = asked.messages as [Extract<ToyMessage, { by: "tool" }>];
  expect(asked.messages).toHaveLength(1);
  // Another agent of the chat has repeated the call; and a page has written what it likes.
  const call = { ...waitingCallOf(waits.output)!, repeats: true };
  const told = { content: [], _meta: { "durable-mcp/waiting": { ...call, state: "settled" } } };
  const again = await step("sign-in", model, [{ ...waits, output: told }]);
  const anew = { "durable-mcp/waiting": { id: call.id, state: "waiting", repeats: true } };
  expect(again.messages).toMatchObject([{ output: { ...(waits.output as object), _meta: anew } }]);

  isSignedIn = true;
  await restartCart();
  const { messages } = await step("sign-in", model, again.messages);
  expect(messages.at(-1)).toMatchObject({ text: expect.stringMatching(/empty.*\n.*session/is) });
});

test("a model reads who has to sign in, where the call cannot be kept", async () => {
  const faulty = createFaultyStore(createFolderStore(folder));
  faulty.fail("put");
  isSignedIn = false;
  onTestFinished(() => void (isSignedIn = true));
  const sessions = openSessions({}, { store: faulty.store, closeTimeoutMs: 50 });
  const { messages } = await step("unkept", callOnce("cart__sign_in", {}), [], sessions);
  expect(messages.at(-1)).toMatchObject({ text: expect.stringContaining("has to sign in") });
});
