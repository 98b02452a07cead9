/** Processes that are open for too long. */
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
