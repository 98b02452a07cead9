/** Calls that their server keeps, when what they belong to ends, and beside a later release. */

import { createMemoryStore } from "@durable-mcp/core";
import { encryptStore } from "@durable-mcp/core/sealing";
import type { WaitingCall } from "@durable-mcp/core/waiting";
import { describe, expect, test } from "vitest";
import { randomKey } from "../../../sessions/test/both-stores.ts";
import { type SlowKind, slowKinds, startSlowServer } from "../../../sessions/test/slow-server.ts";
import { alice, callTool } from "../step.ts";
import { createDurableSessions, defineMcpClientConnection } from "../../src/index.ts";

const use = { principal: alice };
const hour = 3_600_000;

/** A call that its server keeps, in a store whose values nobody reads. */
async function startHeld(kind: SlowKind = "task of 2026-07-28") {
  const server = await startSlowServer(kind);
  let passedMs = 0;
  const now = () => Date.now() + passedMs;
  const plain = createMemoryStore({ now });
  const keys = { keys: { current: randomKey() }, fingerprintKey: randomKey() };
  const store = encryptStore(plain, keys);
  const lab = defineMcpClientConnection({
    ...{ url: server.url, description: "A lab.", waiting: { afterMs: 150 } },
    session: kind === "task of 2026-07-28" ? "stateless" : "stateful",
  });
  const connections = { lab };
  const sessions = createDurableSessions({ connections, store, now, onEvent: () => undefined });
  const about = { topic: "tea" };
  const placeholder = await sessions.run("chat", use, async (run) =>
    callTool(await run.tools(), "lab__research", about),
  );
  const [{ id }] = (await sessions.waiting("chat", use)) as [WaitingCall];
  const records = async () => (await store.list({ limit: 100 })).records;
  server.log.length = 0;
  const pass = (ms: number) => void (passedMs += ms);
  /** Changes the record whose key has this in it. */
  const change = async (part: string, next: object) => {
    const [found] = (await records()).filter(({ key }) => key.includes(part));
    const { key, value, owner, revision } = found!;
    await store.put(key, { ...(value as object), ...next }, revision, { owner, at: 0 });
  };
  /** The reference of the call, when it is due. */
  const dueLater = async () => {
    pass(hour);
    for await (const { reference } of sessions.admin.due()) return reference;
    throw new Error("No call is due.");
  };
  return { server, sessions, placeholder, id, records, pass, change, dueLater };
}

describe.each(slowKinds)("a %s", (kind) => {
  test.each(["end", "endAll"] as const)("is stopped and forgotten by %s", async (how) => {
    const { server, sessions, records } = await startHeld(kind);
    await (how === "end" ? sessions.end("chat", use) : sessions.endAll(use));
    const stop = kind === "stream" ? "notifications/cancelled" : "tasks/cancel";
    expect(server.log.filter((each) => each === `POST ${stop}`)).toHaveLength(1);
    expect(await records()).toEqual([]);
  });
});

test.each<[string, (held: Awaited<ReturnType<typeof startHeld>>) => Promise<unknown>]>([
  ["its server is down", ({ server }) => server.close()],
  ["its process is shut down", ({ sessions }) => sessions.shutdown()],
])("where %s, it is forgotten all the same", async (_, stop) => {
  const held = await startHeld();
  await stop(held);
  await held.sessions.endAll(use);
  expect(await held.records()).toEqual([]);
});

test("an operator's end and a sweep forget it", async () => {
  const ended = await startHeld();
  await ended.sessions.admin.end("chat");
  expect(await ended.records()).toEqual([]);

  const swept = await startHeld();
  swept.pass(hour);
  expect(await swept.sessions.admin.sweep({ idleForMs: hour })).toMatchObject({ waitingCalls: 1 });
  expect(await swept.records()).toEqual([]);
});

describe("a later release's", () => {
  const refusal = { code: "STATE_INVALID", data: { field: "version" } };

  test("call is left to that release", async () => {
    const { server, sessions, placeholder, id, records, change, dueLater } = await startHeld();
    await change('"waiting/', { version: 3 });
    const before = await records();
    const reference = await dueLater();
    const call = { toolCallId: "call-1", toolName: "lab__research" };
    const messages = [
      { role: "assistant", content: [{ type: "tool-call", ...call, input: { topic: "tea" } }] },
      {
        role: "tool",
        content: [{ type: "tool-result", ...call, output: { type: "json", value: placeholder } }],
      },
    ];
    const resume = async () =>
      sessions.run("chat", use, async (run) =>
        run.waiting.resume(messages, { tools: await run.tools() }),
      );
    for (const each of [
      () => sessions.waiting("chat", use),
      () => sessions.check("chat", use),
      () => sessions.withdraw("chat", id, use),
      () => sessions.admin.check(reference),
      resume,
    ]) {
      await expect(each()).rejects.toMatchObject(refusal);
    }
    expect(await sessions.admin.sweep({ idleForMs: hour })).toMatchObject({ waitingCalls: 0 });
    expect(await records()).toEqual(before);
    expect(server.log.filter((each) => each.includes("task"))).toEqual([]);
    await sessions.end("chat", use);
    expect(await records()).toEqual([]);
  });

  test("entry of a call that is due is left to that release", async () => {
    const { sessions, records, change, dueLater } = await startHeld();
    await change("due/", { version: 2, sessionId: "what only that release knows" });
    await expect(sessions.admin.check(await dueLater())).rejects.toMatchObject(refusal);
    expect(await records()).toHaveLength(2);
  });
});
