import { createMemoryStore } from "@durable-mcp/core";
import { createFaultyStore } from "@durable-mcp/testing";
import { expect, test } from "vitest";
import { said } from "../../test/chat.ts";
import { createAnswers } from "./answer-record.ts";

const call = (toolCallId: string, input: unknown = {}) => ({ toolCallId, toolName: "add", input });

function start(aliveMs: number) {
  const faulty = createFaultyStore(createMemoryStore());
  let laterMs = 0;
  const now = () => Date.now() + laterMs;
  const answers = createAnswers(faulty.store, { key: "answer", owner: "alice", now, aliveMs });
  return { faulty, answers, pass: (ms: number) => void (laterMs += ms) };
}

test("a call that begins while a sign of life is written is noted", async () => {
  const { faulty, answers } = start(100);
  const answer = (await answers.claim(undefined, [said("Hi")]))!;
  const [writing, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  faulty.before("put", async () => {
    writing.resolve();
    await go.promise;
  });
  await writing.promise;
  const begun = Promise.all([answer.begin(call("1")), answer.begin(call("2"))]);
  go.resolve();
  await begun;
  expect((await answers.find())!.calls).toEqual([call("1"), call("2")]);
  answer.saved(({ toolCallId }) => toolCallId === "2");
  await answer.end("failed");
  expect(await answers.find()).toMatchObject({ calls: [call("2")], messages: [], state: "failed" });
});

test("long arguments of a call are not noted", async () => {
  const { answers } = start(1_000);
  const answer = (await answers.claim(undefined, []))!;
  await answer.begin(call("1", "x".repeat(2_000_000)));
  expect((await answers.find())!.calls).toEqual([call("1")]);
  await answer.end("done");
  expect(await answers.find()).toBeUndefined();
});

test("a process that was asleep has lost the answer", async () => {
  const { answers, pass } = start(1_000_000);
  const asleep = (await answers.claim(undefined, []))!;
  pass(2_000_000);
  const found = await answers.find();
  const next = (await answers.claim(found, []))!;
  expect(await answers.claim(found, [])).toBeUndefined();
  expect(await asleep.isOurs()).toBe(false);
  expect(asleep.signal.aborted).toBe(true);
  await expect(asleep.begin(call("1"))).rejects.toMatchObject({ code: "STATE_CONFLICT" });
  await asleep.end("done");
  expect(await next.isOurs()).toBe(true);
  await next.end("done");
});

test("a process whose store does not answer loses the answer in time", async () => {
  const { faulty, answers } = start(100);
  const answer = (await answers.claim(undefined, []))!;
  faulty.fail("put", "delete");
  await expect.poll(() => answer.signal.aborted).toBe(true);
  await answer.end("done").catch(() => undefined);
});
