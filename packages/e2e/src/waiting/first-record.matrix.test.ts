/** Steps whose records are written first (`record: "first"`), killed, and run again with the same messages. */

import { createClock, type StopPlan } from "@durable-mcp/testing";
import { expect, onTestFinished, test } from "vitest";
import { type SlowKind, slowKinds } from "../../../sessions/test/slow-server.ts";
import { openStoreAt, startStorePlace } from "../durable/store-place.ts";
import { startModule } from "../processes/start-module.ts";
import { startSlowProgram } from "../servers/slow.ts";
import type { FirstStep } from "./first-record-program.ts";
import { createLab } from "./waiting-lab.ts";

const program = new URL("first-record-program.ts", import.meta.url);

/** A step is killed; meanwhile its server ends the call. */
async function killFirst(kind: SlowKind, stop: StopPlan, isPlain = false) {
  const server = await startSlowProgram(kind, { isPlain });
  const { remove, ...place } = await startStorePlace("sqlite");
  const clock = createClock();
  onTestFinished(async () => {
    await server.close();
    await remove();
  });
  const use = {
    kind,
    url: server.url,
    sessionId: "chat",
    record: "first",
    afterMs: 5_000,
  } as const;
  const input: FirstStep = { place, use };
  const start = () => startModule<FirstStep, string>(program, { input, clock });
  await (await start()).kill(stop);
  for (const work of server.works) work.set("done");
  return { server, place, clock, use, start };
}

/** The step is run again later. */
async function killAndRunAgain(...of: Parameters<typeof killFirst>) {
  const { server, clock, start } = await killFirst(...of);
  clock.advance({ minutes: 2 });
  const { output } = await (await start()).finish();
  return { output, works: server.works.length };
}

test.each<[SlowKind, StopPlan, string]>([
  ...slowKinds.map((kind): [SlowKind, StopPlan, string] => [
    ...([kind, { at: "after-save", nth: 2 } as const, "settled"] as const),
  ]),
  ["stream", { at: "after-send" }, "outcome-unknown"],
])(
  "a killed %s is due for an operator's program when its process may be dead: %o",
  async (kind, stop, state) => {
    const { server, place, clock, use } = await killFirst(kind, stop);
    const { store, close } = await openStoreAt(place);
    const lab = createLab(use, { store, now: () => clock.now() });
    expect(await lab.lookAsOperator()).toEqual([]);
    clock.advance({ minutes: 2 });
    expect(await lab.lookAsOperator()).toMatchObject([{ state }]);
    expect(await lab.lookAsOperator()).toEqual([]);
    const entries = async () => (await store.list({ prefix: "due/", limit: 9 })).records;
    // By it a later step finds the call, until that has expired.
    expect(await entries()).toHaveLength(1);
    clock.advance({ minutes: 8 * 24 * 60 });
    expect(await lab.lookAsOperator()).toEqual([]);
    expect(await entries()).toEqual([]);
    expect(server.works).toHaveLength(1);
    await close?.();
  },
);

test.each(slowKinds)("a %s has its answer, and the server saw one call", async (kind) => {
  // Its record says how it is found again.
  const { output, works } = await killAndRunAgain(kind, { at: "after-save", nth: 2 });
  expect(output).toContain("All about tea.");
  expect(works).toBe(1);
});

test.each<[SlowKind, boolean]>([
  ...slowKinds.map((kind): [SlowKind, boolean] => [kind, false]),
  ["task of 2026-07-28", true],
  ["stream", true],
])(
  "a %s that was killed before it had anything of an answer is unknown, and is not sent again (plain: %s)",
  async (kind, isPlain) => {
    const { output, works } = await killAndRunAgain(kind, { at: "after-send" }, isPlain);
    expect(output).toContain("OUTCOME_UNKNOWN");
    expect(output).not.toContain("All about");
    expect(works).toBe(1);
  },
);

test("a call that was not sent yet is unknown, too", async () => {
  const stop: StopPlan = { at: "before-send" };
  const { output, works } = await killAndRunAgain("stream", stop);
  expect(output).not.toContain("All about");
  expect(works).toBe(0);
});
