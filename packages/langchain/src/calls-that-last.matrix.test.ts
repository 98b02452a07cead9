import { setTimeout } from "node:timers/promises";
import { createDurableSessions, defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { createMemoryStore } from "@durable-mcp/core";
import type { WaitingCall } from "@durable-mcp/core/waiting";
import { Command } from "@langchain/langgraph";
import { expect, test } from "vitest";
import { type SlowKind, slowKinds, startSlowServer } from "../../sessions/test/slow-server.ts";
import { alice } from "../../ai-sdk/test/step.ts";
import { createToldAgent, questions, results } from "../test/shop.ts";

const research = { name: "lab__research", args: { topic: "tea" }, id: "call-tea" };

const due = async ({ pollAfter }: WaitingCall) =>
  await setTimeout(Math.max(0, pollAfter! - Date.now() + 20));

const interruptsOf = ({ __interrupt__: interrupts = [] }: { __interrupt__?: unknown }) =>
  interrupts as { id: string; value: WaitingCall }[];

/** An agent that calls the tool of a slow server. Each run of it is a process of its own. */
async function startAgent(kind: SlowKind, calls = [research]) {
  const lab = await startSlowServer(kind);
  const store = createMemoryStore();
  const step = async <RESULT>(work: () => Promise<RESULT>): Promise<RESULT> => {
    const connection = defineMcpClientConnection({
      ...{ url: lab.url, description: "A lab." },
      session: kind === "task of 2026-07-28" ? "stateless" : "stateful",
      waiting: { afterMs: 150 },
    });
    const sessions = createDurableSessions({ connections: { lab: connection }, store });
    return await sessions.run("chat", { principal: alice }, work);
  };
  const type = kind === "stream" ? "stream" : "task";
  return { lab, type, ...createToldAgent(step, [calls]) };
}

test.each(slowKinds)("a graph is resumed until its server has finished: a %s", async (kind) => {
  const { lab, type, start, resume } = await startAgent(kind);
  const [asked] = questions(await start());
  expect(asked).toMatchObject({ type, state: "waiting", toolCallId: "call-tea" });
  // Whatever it is resumed with, the server says how the call is.
  const [again] = questions(await resume(true));
  expect(again).toMatchObject({ type, state: "waiting" });
  lab.finish();
  await due(again!);
  const done = await resume(true);
  expect(questions(done)).toEqual([]);
  expect(results(done)).toEqual(["All about tea."]);
  expect(lab.works).toHaveLength(1);
});

test.each(slowKinds)("a graph that waits for its server may ask a person: a %s", async (kind) => {
  const { lab, start, resume } = await startAgent(kind);
  const [works] = questions(await start());
  lab.ask();
  await due(works!);
  const [asked] = questions(await resume(true));
  expect(asked).toMatchObject({ type: "question", round: 1, toolCallId: "call-tea" });
  const [key] = Object.keys(asked!.requests);
  let state = await resume({ [key!]: { action: "accept", content: { year: "1773" } } });
  lab.finish();
  for (let looks = 0; looks < 5 && questions(state).length > 0; looks += 1) {
    await due(questions(state)[0]!);
    state = await resume(true);
  }
  expect(results(state)).toEqual(["All about tea in 1773."]);
  expect(lab.works).toHaveLength(1);
});

test("of two calls one asks a person, and one works on", async () => {
  const milk = { ...research, args: { topic: "milk" }, id: "call-milk" };
  const { lab, start, run } = await startAgent("task of 2025-11-25", [research, milk]);
  const resume = (answers: Record<string, unknown>) => run(new Command({ resume: answers }));
  let state = await start();
  const look = async () => {
    const works = interruptsOf(state).filter(({ value }) => value.pollAfter);
    for (const { value } of works) await due(value);
    state = await resume(Object.fromEntries(works.map(({ id }) => [id, true])));
  };
  lab.works.find(({ topic }) => topic === "tea")!.set("asking");
  await look();
  await look();
  expect(questions(state)).toHaveLength(2);
  const interrupts = interruptsOf(state);
  const { id, value } = interrupts.find(({ value: each }) => each.toolCallId === "call-tea")!;
  expect(value).toMatchObject({ type: "question", round: 1 });
  expect(value).not.toHaveProperty("error");
  const [key] = Object.keys(value.requests);
  state = await resume({ [id]: { [key!]: { action: "accept", content: { year: "1773" } } } });
  lab.finish();
  for (let looks = 0; looks < 5 && questions(state).length > 0; looks += 1) await look();
  expect(results(state)).toEqual(["All about tea in 1773.", "All about milk."]);
  expect(lab.works).toHaveLength(2);
});
