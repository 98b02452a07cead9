import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClock, createFaultyServer, runStep, startStep } from "@durable-mcp/testing";
import { matchers } from "@durable-mcp/testing/vitest";
import { expect, onTestFinished, test } from "vitest";
import { connectShop, use } from "./shop.ts";
import type { Chat } from "./step.ts";

expect.extend(matchers);
const step = new URL("step.ts", import.meta.url);
const turns = [[{ tool: "shop__order", input: { item: "tea" } }], "Done."];

async function startShop() {
  const clock = createClock();
  const tools = { order: ({ item }: { item: string }) => `Ordered ${item}.` };
  const server = await createFaultyServer({ tools, now: clock.now });
  onTestFinished(() => server.close());
  const path = join(mkdtempSync(join(tmpdir(), "shop-")), "sessions.db");
  const chat = { url: server.url, path, turns };
  return { clock, server, chat };
}

test("a step that is killed before it saves its session orders nothing twice", async () => {
  const { server, chat } = await startShop();
  const killed = await startStep(step, { input: chat });
  await killed.kill({ at: "before-save" });
  expect(server).toHaveDone({});
  await runStep(step, { input: chat });
  expect(server).toHaveDone({ order: 1 });
  expect(await runStep(step, { input: chat })).toHaveSent({ calls: 1, requests: 1 });
});

test("a session that the server has lost is made anew, and the call is sent once", async () => {
  const { server, chat } = await startShop();
  await runStep(step, { input: chat });
  server.forgetSessions({ dialect: "no-valid-session-id" });
  const next = await runStep(step, { input: chat });
  expect(next).toHaveSent({ handshakes: 1, calls: 2 });
  expect(server).toHaveDone({ order: 2 });
});

test("a question is answered three days later, in another process", async () => {
  const { server, clock, chat } = await startShop();
  server.ask("order", [{ sure: { message: "Order tea?", form: { yes: { type: "boolean" } } } }]);
  const asking = { ...chat, asks: true };
  const { output } = await runStep<Chat, Chat>(step, { input: asking, clock });
  clock.advance({ days: 3 });
  const { sessions } = connectShop(asking, { now: clock.now });
  const [call] = await sessions.waiting("chat 1", use);
  const yes = { sure: { action: "accept", content: { yes: true } } } as const;
  await sessions.answer("chat 1", call!.id!, yes, use);
  await runStep(step, { input: { ...asking, messages: output.messages }, clock });
  expect(server).toHaveDone({ order: 1 });
});

test("a call waits for its user's sign-in", async () => {
  const { server, chat } = await startShop();
  await runStep(step, { input: chat });
  const signIn = server.requireSignIn();
  const { output } = await runStep<Chat, Chat>(step, { input: chat });
  const { oauth } = connectShop(chat);
  const begun = { ...use, connection: "shop", url: server.url };
  const start = await oauth.start(new Request("http://localhost:3000/oauth/start"), begun);
  const callback = signIn.consent(start.headers.get("location")!);
  await oauth.callback(new Request(callback), use);
  await runStep(step, { input: { ...chat, turns: ["Done."], messages: output.messages } });
  expect(server).toHaveDone({ order: 2 });
});

test("two steps at once refresh an expired token once", async () => {
  const { server, clock, chat } = await startShop();
  const signIn = server.requireSignIn({ accessTokenSeconds: 3_600 });
  const { oauth } = connectShop(chat, { now: clock.now });
  const begun = { ...use, connection: "shop", url: server.url };
  const start = await oauth.start(new Request("http://localhost:3000/oauth/start"), begun);
  await oauth.callback(new Request(signIn.consent(start.headers.get("location")!)), use);
  clock.advance({ hours: 2 });
  await Promise.all([1, 2].map(() => runStep(step, { input: chat, clock })));
  expect(signIn.counts).toMatchObject({ refreshes: 1, reuses: 0 });
  expect(server).toHaveDone({ order: 2 });
});
