import { createMemoryStore } from "@durable-mcp/core";
import { afterEach, expect, test, vi } from "vitest";
import { countOperations } from "../../test/counted-store.ts";
import { createReplicas } from "../../test/replicas.ts";

afterEach(() => {
  vi.useRealTimers();
});

/** Handlers on one store, with a clock and timers that the test moves. */
function startWithTimers(idleMs: number) {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "Date"] });
  const counted = countOperations(createMemoryStore());
  const replicas = createReplicas({ timeouts: { idleMs } });
  const start = () => replicas.start({ store: counted.store });
  return { ...replicas, ...counted, start };
}

/** A read and its consequences are over. */
const settled = () => new Promise((resolve) => setTimeout(resolve, 5));

test("servers of sessions that have expired are closed without anybody's call", async () => {
  const { start, lines } = startWithTimers(10_000);
  const { client, handler } = start();
  await client.initialize();
  await vi.advanceTimersByTimeAsync(9_000);
  await settled();
  expect(handler.liveSessions).toBe(1);
  await vi.advanceTimersByTimeAsync(3_000);
  await settled();
  expect(handler.liveSessions).toBe(0);
  expect(lines).toContain("closed");
});

test("a session that is used on another replica stays, and costs one read in its idle time", async () => {
  const { start, counts } = startWithTimers(10_000);
  const [one, two] = [start(), start()];
  const id = await one.client.initialize();
  await two.client.call(id, "list");
  await vi.advanceTimersByTimeAsync(8_000);
  await two.client.call(id, "list");
  counts.clear();
  for (let second = 0; second < 7; second += 1) {
    await vi.advanceTimersByTimeAsync(1_000);
    await settled();
  }
  expect([one.handler.liveSessions, two.handler.liveSessions]).toEqual([1, 1]);
  expect(Object.fromEntries(counts)).toEqual({ get: 1 });
});

test("there is one timer while there are live sessions, and none before or after", async () => {
  const { start } = startWithTimers(10_000);
  const { client } = start();
  expect(vi.getTimerCount()).toBe(0);
  const ids = [await client.initialize(), await client.initialize()];
  expect(vi.getTimerCount()).toBe(1);
  for (const id of ids) await client.end(id);
  expect(vi.getTimerCount()).toBe(0);
});

test("a session that was ended on another replica is closed when it would have expired", async () => {
  const { start } = startWithTimers(10_000);
  const [one, two] = [start(), start()];
  const id = await one.client.initialize();
  await two.client.end(id);
  expect(one.handler.liveSessions).toBe(1);
  await vi.advanceTimersByTimeAsync(11_000);
  await settled();
  expect(one.handler.liveSessions).toBe(0);
});
