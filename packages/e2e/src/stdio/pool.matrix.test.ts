import { type ConnectionEvent, createConnectionProvider } from "@durable-mcp/ai-sdk";
import { defineMcpStdioConnection } from "@durable-mcp/ai-sdk/stdio";
import { afterEach, expect, test, vi } from "vitest";
import { processesWith } from "../processes/marked-processes.ts";
import { callForModel, callForText, callTool, stdioFixture } from "./stdio-fixture.ts";

const opened: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0)) await close();
});

/** A provider that keeps stdio servers, and runs of its agent sessions. */
function startPooled(
  pool: { max?: number } = {},
  timeouts: { connectMs?: number } = {},
  now: () => number = Date.now,
) {
  const { marker, ...command } = stdioFixture();
  const events: ConnectionEvent[] = [];
  const provider = createConnectionProvider({
    connections: {
      fixture: defineMcpStdioConnection({
        ...command,
        description: "A fixture.",
        timeouts: { closeMs: 200, ...timeouts },
      }),
    },
    pool,
    now,
    onEvent: { every: (event) => events.push(event) },
  });
  opened.push(() => provider.shutdown());
  const run = async <T>(
    sessionId: string,
    use: (tools: Awaited<ReturnType<ReturnType<typeof provider.create>["tools"]>>) => Promise<T>,
  ): Promise<T> => {
    const registry = provider.create({ sessionId });
    return await registry.enter(async () => await use(await registry.tools()));
  };
  return { marker, provider, events, run };
}

test("a pool keeps a stdio server, and what it holds, between the runs of one agent session", async () => {
  const { run, marker, provider } = startPooled();
  const pid = await run("chat", async (tools) => {
    await callTool(tools, "add_note", { text: "kept" });
    return await callForText(tools, "pid");
  });
  await run("chat", async (tools) => {
    expect(await callForText(tools, "pid")).toBe(pid);
    expect(await callForText(tools, "list_notes")).toBe("kept");
  });
  await run("other chat", async (tools) => {
    expect(await callForText(tools, "pid")).not.toBe(pid);
    expect(await callForText(tools, "list_notes")).toBe("");
    await callTool(tools, "start_processes");
  });
  expect(processesWith(marker).length).toBeGreaterThan(2);
  await provider.shutdown();
  expect(processesWith(marker)).toEqual([]);
});

test("a stdio server that died between runs is replaced, and the model is told", async () => {
  const { run, events } = startPooled();
  const pid = await run("chat", (tools) => callForText(tools, "pid"));
  process.kill(Number(pid), "SIGKILL");
  await vi.waitFor(() => expect(events.map(({ type }) => type)).toContain("lost"), 10_000);
  await run("chat", async (tools) => {
    const [note, text] = await callForModel(tools, "list_notes");
    expect(note).toContain("had lost the session");
    expect(text).toBe("");
    expect(await callForText(tools, "pid")).not.toBe(pid);
  });
});

test("is told of a server that died, also when a run in between did not use it", async () => {
  const { run, provider, events } = startPooled();
  const pid = await run("chat", (tools) => callForText(tools, "pid"));
  process.kill(Number(pid), "SIGKILL");
  await vi.waitFor(() => expect(events.map(({ type }) => type)).toContain("lost"), 10_000);
  await provider.create({ sessionId: "chat" }).dispose();
  await run("chat", async (tools) => {
    const [note] = await callForModel(tools, "list_notes");
    expect(note).toContain("had lost the session");
  });
  await run("chat", async (tools) => {
    const [note] = await callForModel(tools, "list_notes");
    expect(note).not.toContain("had lost the session");
  });
});

test("a server that hangs is replaced on the next run", async () => {
  const { run, provider, marker, events } = startPooled({}, { connectMs: 2_000 });
  const pid = await run("chat", (tools) => callForText(tools, "pid"));
  process.kill(Number(pid), "SIGSTOP");
  await run("chat", async (tools) => {
    expect(await callForText(tools, "pid")).not.toBe(pid);
  });
  expect(events).toContainEqual(expect.objectContaining({ reason: "unhealthy" }));
  await provider.shutdown();
  expect(processesWith(marker)).toEqual([]);
});

test("leaves no process when a run is over before its server has started", async () => {
  const { provider, marker } = startPooled();
  const registry = provider.create({ sessionId: "chat" });
  const opening = registry.client("fixture").catch((error: unknown) => error);
  await registry.dispose();
  await opening;
  await provider.shutdown();
  expect(processesWith(marker)).toEqual([]);
});

test("of 12 agent sessions at once no more than max stdio servers are left", async () => {
  const { run, marker } = startPooled({ max: 3 });
  const names = Array.from({ length: 12 }, (_, index) => `chat ${index}`);
  const pids = await Promise.all(
    names.map((name) => run(name, (tools) => callForText(tools, "pid"))),
  );
  expect(new Set(pids).size).toBe(12);
  // A server and its supervisor each; the supervisor has the marker in its arguments, too.
  const ofOne = await countOfOne();
  await vi.waitFor(() => expect(processesWith(marker)).toHaveLength(3 * ofOne), 20_000);
}, 60_000);

/** How many processes with its marker a single server makes. */
async function countOfOne(): Promise<number> {
  const { run, marker, provider } = startPooled();
  await run("one", (tools) => callForText(tools, "pid"));
  const count = processesWith(marker).length;
  expect(count).toBeGreaterThan(0);
  await provider.shutdown();
  return count;
}
