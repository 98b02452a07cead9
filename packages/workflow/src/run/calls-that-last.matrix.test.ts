import { setTimeout } from "node:timers/promises";
import { expect, test } from "vitest";
import { slowKinds } from "../../../sessions/test/slow-server.ts";
import { alice, startSlowShop, textOf, useTestApp } from "../../test/test-app.ts";
import { useShop } from "../../test/waiting-runs.ts";

const app = useTestApp();
const begin = useShop(app);
const research = { tool: "shop__research", input: { topic: "tea" }, toolCallId: "of tea" };

test.each(slowKinds)("a run sleeps until its server has finished: a %s", async (kind) => {
  const lab = await startSlowShop(kind);
  const { run, runId, steps, questions } = await begin([[research]], true);
  const [call] = await questions(1, 0);
  expect(call).toMatchObject({ type: kind === "stream" ? "stream" : "task", state: "waiting" });
  const nothing = steps.answer(runId, call!.id, {}, { principal: alice });
  await expect(nothing).rejects.toMatchObject({ code: "NOT_WAITING" });
  lab.finish();
  const { results } = await run.returnValue;
  expect(textOf(results[0]![0])).toBe("All about tea.");
  expect(lab.works).toHaveLength(1);
  expect(await steps.waiting(runId, { principal: alice })).toEqual([]);
});

const both = slowKinds.flatMap((kind) => [
  { kind, isStored: true },
  { kind, isStored: false },
]);

test.each(both)("it may ask a person: a $kind, in a store: $isStored", async (how) => {
  const lab = await startSlowShop(how.kind);
  const { run, runId, steps, questions } = await begin([[research]], how.isStored);
  await lab.begun();
  lab.ask();
  const [asked] = await questions(1, 1);
  expect(asked).toMatchObject({ type: "question", toolCallId: "of tea" });
  const [key] = Object.keys(asked!.requests);
  const yes = { [key!]: { action: "accept", content: { year: "1773" } } } as const;
  await steps.answer(runId, asked!.id, yes, { principal: alice, round: 1 });
  await expect.poll(() => lab.works[0]!.year).toBe("1773");
  lab.finish();
  const { results } = await run.returnValue;
  expect(textOf(results[0]![0])).toBe("All about tea in 1773.");
  expect(lab.works).toHaveLength(1);
});

test("the event log has the tools that run as tasks, and the next run lists all", async () => {
  const lab = await startSlowShop("task of 2025-11-25");
  const options = { connections: ["shop"] };
  const { state, tools } = await app.scripted(options);
  const next = await app.scripted({ ...options, state });
  expect(next.tools).toEqual(tools);
  expect(tools).toEqual(["shop__research", "shop__quick"]);
  expect(lab.log.filter((line) => line === "POST initialize")).toHaveLength(1);
});

test("a call that its server works on is taken back, and stopped there", async () => {
  const lab = await startSlowShop("task of 2026-07-28");
  const { run, runId, steps, questions } = await begin([[research]], true);
  const [call] = await questions(1, 0);
  await steps.withdraw(runId, call!.id, { principal: alice });
  await run.returnValue;
  expect(lab.log).toContain("POST tasks/cancel");
  // The engine wakes the run once more, for the look that it had slept for.
  await setTimeout(1_000);
});
