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

const added = { state: "output-available", output: "1 item" } as const;

test("the end of a call is noted at once while another is made, else with what is written next", async () => {
  const { faulty, answers } = start(1_000_000);
  const answer = (await answers.claim(undefined, []))!;
  for (const id of ["1", "2", "3"]) await answer.begin(call(id));
  faulty.log.length = 0;
  answer.ended("1", added);
  answer.ended("of another agent", added);
  const failed = { state: "output-error", errorText: "No." } as const;
  answer.ended("2", failed);
  const noted = [{ ...call("1"), end: added }, { ...call("2"), end: failed }, call("3")];
  await expect.poll(async () => (await answers.find())!.calls).toEqual(noted);
  answer.ended("3", added);
  expect(faulty.log.filter((name) => name === "put")).toHaveLength(2);
  await answer.begin(call("4"));
  expect((await answers.find())!.calls[2]).toEqual({ ...call("3"), end: added });
  await answer.end("done");
});

test("of a long result it is noted that there was one, and all of them fit into a record", async () => {
  const { answers } = start(1_000_000);
  const answer = (await answers.claim(undefined, []))!;
  for (const id of ["1", "2", "3"]) await answer.begin(call(id));
  const output = "x".repeat(60_000);
  answer.ended("1", { ...added, output });
  answer.ended("2", { ...added, output });
  await expect.poll(async () => (await answers.find())!.calls[1]).toHaveProperty("end");
  const { calls } = (await answers.find())!;
  expect(calls[0]!.end).toEqual({ ...added, output });
  expect(calls[1]!.end).toMatchObject({
    state: "output-error",
    errorText: expect.stringContaining("has ended"),
  });
  await answer.end("done");
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
