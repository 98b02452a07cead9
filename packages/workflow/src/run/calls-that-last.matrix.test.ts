import { setTimeout } from "node:timers/promises";
import { expect, test } from "vitest";
import { slowKinds } from "../../../ai-sdk/test/slow-server.ts";
import { alice, startSlowShop, textOf, useTestApp } from "../../test/test-app.ts";
import { useShop } from "../../test/waiting-runs.ts";

const begin = useShop(useTestApp());
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
