/** What a server chooses is cut or refused before the call is left. Such records could not be written. */

import { expect, test } from "vitest";
import { createAskingServer, done, send, startProcess } from "../../test/asking-server.ts";
import { event, startStream } from "../../test/call-stream.ts";
import { checkWaitingCalls, waitingCallOf } from "./index.ts";
import type { createWaitingFetch } from "./steps/waiting-fetch.ts";

const task = { taskId: "7", status: "working", ttlMs: null, createdAt: "2026-11-28T00:00:00Z" };
const day = 86_400_000;

function startTask(made: object, record: "late" | "first") {
  const time = { now: 1_000 };
  const server = createAskingServer(({ method }) =>
    method === "tools/call"
      ? { resultType: "task", ...task, ...made }
      : { resultType: "complete", ...task, ...made, status: "completed", result: done() },
  );
  const own = startProcess(server, { now: () => time.now, afterMs: 0, record });
  const fetch: ReturnType<typeof createWaitingFetch> = own.waiting.wrap(server.fetch);
  const call = () => send((input, init) => fetch(input, init, { toolCallId: "1" }));
  return { ...own, time, server, call };
}

test.for(["late", "first"] as const)(
  "a task is looked at after a day at most, whatever its server says (record %s)",
  async (record) => {
    for (const made of [
      { pollIntervalMs: 1e99 },
      { pollIntervalMs: 1_234.5 },
      { pollIntervalMs: -1e99, ttlMs: 1e99 },
      { status: "x".repeat(1_000_000), statusMessage: "x".repeat(1_000_000) },
    ]) {
      const { call, waiting, time, server } = startTask(made, record);
      const placeholder = waitingCallOf((await call()).result);
      expect(placeholder).toMatchObject({ type: "task", state: "waiting" });
      time.now += day;
      const [looked] = await checkWaitingCalls(waiting, { fetch: server.fetch });
      expect(looked).toMatchObject({ state: "settled" });
    }
  },
);

test.for(["x".repeat(1_000_000), "line\nbreak"])(
  "a task whose id cannot be kept or sent is refused: the outcome is unknown",
  async (taskId) => {
    const { call, waiting } = startTask({ taskId }, "late");
    const { error } = await call();
    expect(error).toMatchObject({ data: { code: "OUTCOME_UNKNOWN" } });
    expect(error.message).toMatch(/^The server made a task of the call, with an id/);
    expect(error.message.length).toBeLessThan(500);
    expect(await waiting.list()).toEqual([]);
  },
);

test("a stream whose event id cannot be kept or sent is not left", async () => {
  const server = startStream({ afterMs: 0 });
  server.say(event("x".repeat(500_000)));
  const answer = server.call();
  await server.until(1);
  await new Promise((resolve) => setTimeout(resolve, 20));
  server.say(event("y".repeat(500_000), { id: 0, result: done() }));
  server.close();
  expect((await answer).result).toEqual(done());
  expect(await server.waiting.list()).toEqual([]);
});

test("a stream that asks for a longer pause than a day is looked at after a day", async () => {
  const server = startStream();
  server.say(event("1"));
  await server.call();
  server.say(`retry: ${"9".repeat(400)}\n${event("2")}`);
  expect(await server.check()).toMatchObject({ state: "waiting" });
  server.say(event("3", { id: 0, result: done() }));
  expect(await server.check(day)).toMatchObject({ state: "settled" });
});
