import { createMemoryStore } from "@durable-mcp/core";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { add } from "../agent-session.ts";
import { startProcess } from "../durable-process.ts";
import { startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { alice } from "../step.ts";

const minute = 60_000;
const use = { principal: alice };
const authorize = () => ({ principal: alice });

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Two processes and a store. The clock of the first one is `apartMs` behind those of the others. */
async function startApart(apartMs: number, options: { clockSkewMs?: number } = {}) {
  const server = await startNotebookServer();
  let time = Date.now();
  // In a file or a database, the writing process's clock tells the time of a write.
  const storeOf = { now: () => time };
  const store = createMemoryStore({ now: () => storeOf.now() });
  const behind = startProcess(server, store, { now: () => time - apartMs, ...options });
  const other = startProcess(server, store, { now: () => time, ...options });
  storeOf.now = () => time - Math.max(0, apartMs);
  return {
    ...{ server, behind: behind.sessions, other: other.sessions },
    /** Time goes by, and leases are marked as used, as they are each minute. */
    pass: async (ms: number) => {
      for (let passed = 0; passed < ms; passed += minute) {
        time += minute;
        await vi.advanceTimersByTimeAsync(minute);
      }
    },
  };
}

describe.each([10, -10])("with clocks that are %i minutes apart", (minutes) => {
  test("a session whose lease is open is not swept, for the shortest idle time either", async () => {
    const { server, behind, other, pass } = await startApart(minutes * minute);
    const lease = await behind.open("chat", use);
    expect(await add("a")(lease)).toBe("1 notes");
    for (let hour = 0; hour < 3; hour += 1) {
      await pass(60 * minute);
      const swept = await other.admin.sweep({ idleForMs: 3 * minute, authorize });
      expect(swept.sessions).toEqual([]);
    }
    expect(await add("b")(lease)).toBe("2 notes");
    expect(server.log).not.toContain("DELETE");
    await lease.dispose();
  });

  test("a session that nobody uses any more is swept", async () => {
    const { server, behind, other, pass } = await startApart(minutes * minute);
    await behind.run("chat", use, add("a"));
    await pass(30 * minute);
    const { sessions } = await other.admin.sweep({ idleForMs: 3 * minute, authorize });
    expect(sessions).toMatchObject([{ ended: true, removed: true }]);
    expect(server.liveSessions()).toBe(0);
  });

  test("a named session that was just used does not look idle", async () => {
    const { behind, other } = await startApart(minutes * minute);
    await behind.run("chat", use, async (run) => {
      await run.named.create("c", { idleTimeoutMs: 5 * minute });
      await run.named.run("c", (own) => own.call("notes", "add_note", { text: "a" }));
    });
    expect((await other.admin.sweep({ authorize })).sessions).toEqual([]);
    expect((await other.list({ ...use, name: "c", sessionId: "chat" })).sessions).toMatchObject([
      { kind: "session" },
    ]);
  });
});

test("clocks that are in step need no allowance", async () => {
  const { other, pass } = await startApart(0, { clockSkewMs: 0 });
  await other.run("chat", use, add("a"));
  await pass(3 * minute);
  const { sessions } = await other.admin.sweep({ idleForMs: 3 * minute, authorize });
  expect(sessions).toMatchObject([{ removed: true }]);
});

test("an allowance that reaches before 1970 sweeps nothing", async () => {
  const { other } = await startApart(0, { clockSkewMs: Number.MAX_SAFE_INTEGER - 1e6 });
  await other.run("chat", use, add("a"));
  expect(await other.admin.sweep({ idleForMs: 3 * minute })).toEqual({
    sessions: [],
    waitingCalls: 0,
    more: false,
  });
});
