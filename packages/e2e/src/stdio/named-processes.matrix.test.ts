/** Processes under names: how long they last, for whom, and what is told of them. */
import { withConnections } from "@durable-mcp/ai-sdk";
import { expect, test, vi } from "vitest";
import { call, startNamed } from "./named-processes.ts";
import { callForModel } from "./stdio-fixture.ts";

const named = { fixture: { named: "login" } } as const;
const alice = { type: "user", issuer: "https://login.example", id: "alice" } as const;
const bob = { ...alice, id: "bob" };
const pid = () => withConnections(named, (own) => call(own, "pid"));
/** Of both processes, without the name first. */
const both = async (run: Parameters<typeof call>[0]) => {
  await call(run, "pid");
  return await pid();
};

test("is each principal's, each agent session's and each name's own", async () => {
  const { run } = startNamed({ pool: {} });
  const pids = [
    await run(pid, { principal: alice }),
    await run(pid, { principal: bob }),
    await run(pid, { principal: alice, chat: "other" }),
    await run(pid),
    await run(() => withConnections({ fixture: { named: "other" } }, (own) => call(own, "pid"))),
    await run((own) => call(own, "pid")),
  ];
  expect(new Set(pids).size).toBe(pids.length);
  expect(await run(pid, { principal: alice })).toBe(pids[0]);
  await run(async ({ named: names }) => {
    expect((await names.list()).map(({ name }) => name)).toEqual(["login", "other"]);
  });
});

test("is shared by runs that overlap, and outlives the one that began it", async () => {
  const { run, processes } = startNamed({ pool: {} });
  const second = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const before = run(() =>
    withConnections(named, async (own) => {
      const first = await call(own, "pid");
      begun.resolve();
      await second.promise;
      return first;
    }),
  );
  await begun.promise;
  await run(() =>
    withConnections(named, async (own) => {
      const later = await call(own, "pid");
      second.resolve();
      expect(await before).toBe(later);
      expect(await call(own, "pid")).toBe(later);
    }),
  );
  expect(processes()).toHaveLength(1);
});

test("is made, described, restarted and ended by name", async () => {
  const { run, takeEvents, processes } = startNamed({ pool: {} });
  let before = "";
  await run(async (registry) => {
    const created = await registry.named.create("login", { idleTimeoutMs: 120_000 });
    expect(created).toMatchObject({
      idleTimeoutMs: 120_000,
      connections: [{ connection: "fixture", kind: "process", startedAt: expect.any(Number) }],
    });
    await expect(registry.named.create("login")).rejects.toMatchObject({ data: { field: "name" } });
    before = await pid();
  });
  takeEvents();
  await run(async ({ named: names }) => {
    const restarted = { connection: "fixture", name: "login", ended: true };
    expect(await names.run("login", (own) => own.restart("fixture"))).toEqual(restarted);
  });
  expect(processes()).toEqual([]);
  await run(async ({ named: names }) => {
    // The name stays, and the model is told.
    expect(await names.find("login")).toMatchObject({ connections: [{ kind: "lost" }] });
    await names.run("login", async (own) => {
      const [note] = await callForModel(await own.tools(), "list_notes");
      expect(note).toContain("had lost the session");
      expect(await call(own, "pid")).not.toBe(before);
    });
    expect(takeEvents()).toContainEqual(
      expect.objectContaining({ type: "recovered", name: "login" }),
    );
    await names.end("login");
    expect(await names.list()).toEqual([]);
    await expect(names.run("login", () => undefined)).rejects.toMatchObject({
      data: { field: "name" },
    });
  });
  expect(processes()).toEqual([]);
});

test("has a keep-alive of its own, and goes last when there are too many", async () => {
  const { run, processes, events } = startNamed({ pool: { max: 1, keepAliveMs: 60_000 } });
  await run(pid);
  await run((own) => call(own, "pid"), { chat: "other" });
  const closed = () =>
    events.flatMap((event) =>
      event.type === "client" && event.action === "closed" ? [event] : [],
    );
  const given = { type: "client", connection: "fixture", action: "closed" };
  await vi.waitFor(() => expect(closed()).toEqual([{ ...given, reason: "max" }]), 10_000);
  await run(async ({ named: names }) => {
    await names.end("login");
    await names.create("login", { idleTimeoutMs: 50 });
  });
  await vi.waitFor(() => {
    expect(closed().at(-1)).toEqual({ ...given, reason: "idle", name: "login" });
  }, 10_000);
  expect(processes()).toEqual([]);
});

test("goes with the agent session when that is ended", async () => {
  const { sessions, processes } = startNamed({ pool: {} });
  const own = await sessions.run("chat", { principal: alice }, both);
  await sessions.run("other", { principal: alice }, both);
  expect(processes()).toHaveLength(4);
  const ended = { sessionId: "chat", connection: "fixture", ended: true };
  const selection = { principal: alice, name: "login" };
  expect(await sessions.end("chat", selection)).toEqual([{ ...ended, name: "login" }]);
  expect(processes()).toHaveLength(3);
  expect(processes()).not.toContain(Number(own));
  expect(await sessions.end("chat", { principal: alice })).toEqual([ended]);
  expect(processes()).toHaveLength(2);
  expect(await sessions.endAll({ principal: bob })).toEqual([]);
  expect(await sessions.endAll({ principal: alice })).toHaveLength(2);
  expect(processes()).toEqual([]);
});

test("with reuse: false it lasts for the step", async () => {
  const { run, processes, events } = startNamed({ pool: {}, reuse: false });
  const before = await run(async () => {
    const first = await pid();
    expect(await pid()).toBe(first);
    return first;
  });
  expect(processes()).toEqual([]);
  expect(await run(pid)).not.toBe(before);
  const closed = events.filter((event) => event.type === "client" && event.action === "closed");
  const over = { name: "login", reason: "run-over" };
  expect(closed).toMatchObject([over, over]);
});
