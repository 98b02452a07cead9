/** Processes that are open for too long, and the tools whose calls go to a second process. */
import { withConnections } from "@durable-mcp/ai-sdk";
import { expect, test, vi } from "vitest";
import { call, startNamed } from "./named-processes.ts";
import { callForModel, callForText } from "./stdio-fixture.ts";

const maxAgeMs = 60_000;

test("a process that is too old is replaced before its next use, never during a call", async () => {
  const reasons: string[] = [];
  const { run, pass, events, takeEvents, processes } = startNamed({
    session: { maxAgeMs, onStart: ({ reason }) => void reasons.push(reason) },
  });
  await run(async (registry) => {
    const tools = await registry.tools();
    const before = await callForText(tools, "pid");
    const abort = new AbortController();
    const waiting = registry.call("fixture", "wait", {}, { abortSignal: abort.signal });
    await vi.waitFor(() => expect(events.map(({ type }) => type)).toContain("notification"));
    pass(maxAgeMs);
    expect(await callForText(tools, "pid")).toBe(before);
    abort.abort();
    await expect(waiting).rejects.toThrow("abort");
    takeEvents();
    const [note, text] = await callForModel(tools, "pid");
    expect(note).toContain("had lost the session");
    expect(text).not.toBe(before);
    expect(takeEvents()).toMatchObject([
      { type: "discarded", connection: "fixture", reason: "age" },
      { type: "recovered" },
    ]);
    expect(processes()).toHaveLength(1);
    pass(maxAgeMs - 1);
    expect(await callForText(tools, "pid")).toBe(text);
  });
  expect(reasons).toEqual(["started", "recovered"]);
});

test("so is one that a pool has kept, with a name and without", async () => {
  const { run, pass, takeEvents } = startNamed({ pool: {}, session: { maxAgeMs } });
  const pid = (name?: string) =>
    run((registry) =>
      name === undefined
        ? call(registry, "pid")
        : withConnections({ fixture: { named: name } }, (own) => call(own, "pid")),
    );
  const before = [await pid(), await pid("login")];
  pass(maxAgeMs);
  takeEvents();
  expect(await pid()).not.toBe(before[0]);
  expect(await pid("login")).not.toBe(before[1]);
  const old = takeEvents().filter(({ type }) => type === "discarded");
  expect(old).toMatchObject([{ reason: "age" }, { reason: "age", name: "login" }]);
});

test("tools in session.except have a second process, for as long as the step's registry", async () => {
  const { run, processes, events } = startNamed({
    pool: {},
    session: { except: ["list_notes", "die"], safeTools: ["list_notes"] },
  });
  const step = () =>
    run(async (registry) => {
      const tools = await registry.tools();
      await callForText(tools, "add_note", { text: "main" });
      expect(processes()).toHaveLength(1);
      expect(await callForText(tools, "list_notes")).toBe("");
      expect(await call(registry, "list_notes")).toBe("");
      const client = await registry.client("fixture");
      expect(await client.callTool({ name: "list_notes", arguments: {} })).toMatchObject({
        content: [{ text: "" }],
      });
      expect(processes()).toHaveLength(2);
      return await callForText(tools, "pid");
    });
  const pid = await step();
  expect(processes()).toHaveLength(1);
  // The first process is in the pool. The second one never is.
  expect(await step()).toBe(pid);
  await run(async (registry) => {
    await expect(call(registry, "die", { code: 3 })).rejects.toMatchObject({
      code: "OUTCOME_UNKNOWN",
    });
    expect(await call(registry, "pid")).toBe(pid);
    const [note] = await callForModel(await registry.tools(), "list_notes");
    expect(note).toContain("had lost the session");
  });
  expect(events.filter(({ type }) => type === "lost")).toMatchObject([{ exitCode: 3 }]);
});

test("each name has a process for the tools in session.except, which has no name", async () => {
  const { run, processes } = startNamed({ pool: {}, session: { except: ["pid"] } });
  await run(async ({ named: names }) => {
    await names.create("login");
    await names.run("login", async (own) => {
      await call(own, "add_note", { text: "main" });
      await call(own, "pid");
      expect(processes()).toHaveLength(2);
    });
    expect(await names.list()).toHaveLength(1);
  });
  await vi.waitFor(() => expect(processes()).toHaveLength(1), 10_000);
  await run(({ named: names }) =>
    names.run("login", async (own) => expect(await call(own, "list_notes")).toBe("main")),
  );
});

test("their calls are followed by the second process", async () => {
  const { run } = startNamed({ session: { except: ["meta"] }, onProgress: () => undefined });
  await run(async (registry) => {
    const token = expect.stringContaining('"progressToken"');
    expect(await call(registry, "meta")).toEqual(token);
    expect(await callForText(await registry.tools(), "meta")).toEqual(token);
  });
});
