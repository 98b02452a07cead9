import { runStep, startStep } from "@durable-mcp/testing";
import { matchers } from "@durable-mcp/testing/vitest";
import { expect, onTestFinished, test } from "vitest";
import { connectShop, user } from "./shop.ts";
import { signInToShop, startShop } from "./start-shop.ts";
import type step from "./step.ts";

expect.extend(matchers);
const module = new URL("step.ts", import.meta.url);
type Output = Awaited<ReturnType<typeof step>>;

test("a killed step orders nothing twice", async () => {
  const { server, chat } = await startShop(onTestFinished);
  const killed = await startStep(module, { input: chat });
  await killed.kill({ at: "before-save" });
  expect(server).toHaveDone({});
  await runStep(module, { input: chat });
  expect(await runStep(module, { input: chat })).toHaveSent({ calls: 1, requests: 1 });
  expect(server).toHaveDone({ order: 2 });
});

test("the agent goes on when the server has lost its session", async () => {
  const { server, chat } = await startShop(onTestFinished);
  await runStep(module, { input: chat });
  server.forgetSessions();
  const next = await runStep<unknown, Output>(module, { input: chat });
  expect(next).toHaveSent({ handshakes: 1 });
  expect(next.output.text).toBe("Done.");
  expect(server).toHaveDone({ order: 2 });
});

test("a question is answered three days later", async () => {
  const { server, clock, chat } = await startShop(onTestFinished);
  server.ask("order", [{ sure: { message: "Order tea?", form: { yes: { type: "boolean" } } } }]);
  const input = { ...chat, asks: true };
  const { output } = await runStep<unknown, Output>(module, { input, clock });
  clock.advance({ days: 3 });
  const { sessions, close } = connectShop(input, clock);
  const [call] = await sessions.waiting("chat 1", { principal: user });
  const yes = { sure: { action: "accept", content: { yes: true } } } as const;
  await sessions.answer("chat 1", call!.id!, yes, { principal: user });
  await close();
  await runStep(module, {
    input: { ...input, turns: ["Done."], messages: output.messages },
    clock,
  });
  expect(server).toHaveDone({ order: 1 });
});

test("a call waits for its user's sign-in", async () => {
  const { server, chat } = await startShop(onTestFinished);
  await runStep(module, { input: chat });
  const signIn = server.requireSignIn();
  const { output } = await runStep<unknown, Output>(module, { input: chat });
  expect(server).toHaveDone({ order: 1 });
  await signInToShop(chat, signIn);
  await runStep(module, { input: { ...chat, turns: ["Done."], messages: output.messages } });
  expect(server).toHaveDone({ order: 2 });
});

test("two steps refresh an expired token once", async () => {
  const { server, clock, chat } = await startShop(onTestFinished);
  const signIn = server.requireSignIn({ accessTokenSeconds: 3_600 });
  await signInToShop(chat, signIn, clock);
  clock.advance({ hours: 2 });
  await Promise.all([1, 2].map(() => runStep(module, { input: chat, clock })));
  expect(signIn.counts).toMatchObject({ refreshes: 1, reuses: 0 });
  expect(server).toHaveDone({ order: 2 });
});
