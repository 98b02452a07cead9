import { withConnections } from "@durable-mcp/ai-sdk";
import { describe, expect, test, vi } from "vitest";
import { call, type Registry, startNamed } from "./named-processes.ts";
import { callForModel, callTool } from "./stdio-fixture.ts";

const notice = "had lost the session";
const pid = (own: Registry) => call(own, "pid");

/** The first text that the model sees as the result of a call. */
async function firstSeen(own: Registry): Promise<string | undefined> {
  const [first] = await callForModel(await own.tools(), "list_notes");
  return first;
}

test("a pool keeps a stdio server, and what it holds, between the runs of one agent session", async () => {
  const { run, processes, provider } = startNamed({ pool: {} });
  const before = await run(async (own) => {
    await call(own, "add_note", { text: "kept" });
    return await pid(own);
  });
  await run(async (own) => {
    expect(await pid(own)).toBe(before);
    expect(await call(own, "list_notes")).toBe("kept");
  });
  await run(
    async (own) => {
      expect(await pid(own)).not.toBe(before);
      expect(await call(own, "list_notes")).toBe("");
      await callTool(await own.tools(), "start_processes");
    },
    { chat: "other" },
  );
  expect(processes().length).toBeGreaterThan(2);
  await provider.shutdown();
  expect(processes()).toEqual([]);
});

describe.each([undefined, "login"])("a process that a pool keeps, under the name %s,", (name) => {
  const start = (options: Parameters<typeof startNamed>[0] = {}) => {
    const started = startNamed({ pool: {}, ...options });
    const use = <T>(work: (own: Registry) => Promise<T>): Promise<T> =>
      started.run((registry) =>
        name === undefined
          ? work(registry)
          : withConnections({ fixture: { named: name } }, (own) => work(own)),
      );
    return { ...started, use };
  };

  test.each([0, 1])(
    "is replaced when it died, and the model is told once, after %d runs that did not use it",
    async (between) => {
      const { use, provider, events } = start();
      const before = await use(pid);
      process.kill(Number(before), "SIGKILL");
      const lost = { type: "lost", signal: "SIGKILL", ...(name && { name }) };
      await vi.waitFor(() => expect(events).toContainEqual(expect.objectContaining(lost)), 10_000);
      if (between > 0) await provider.create({ sessionId: "chat" }).dispose();
      await use(async (own) => {
        const [note, text] = await callForModel(await own.tools(), "list_notes");
        expect(note).toContain(notice);
        expect(text).toBe("");
        expect(await pid(own)).not.toBe(before);
      });
      await use(async (own) => expect(await firstSeen(own)).not.toContain(notice));
    },
  );

  test("is replaced on the next run when it hangs, and the model is told", async () => {
    const timeouts = { connectMs: 3_000, closeMs: 200 };
    const { use, pass, events, provider, processes } = start({ timeouts });
    const before = await use(pid);
    process.kill(Number(before), "SIGSTOP");
    pass(1_000);
    await use(async (own) => {
      expect(await firstSeen(own)).toContain(notice);
      expect(await pid(own)).not.toBe(before);
    });
    const reasons = events.flatMap((event) =>
      event.type === "client" && event.action === "closed" ? event.reason : [],
    );
    expect(reasons).toEqual(["unhealthy"]);
    await provider.shutdown();
    expect(processes()).toEqual([]);
  });

  test("is not left when its only run is over before it has started", async () => {
    const { use, processes } = start();
    await use(async (own) => void own.client("fixture").catch(() => undefined));
    await vi.waitFor(() => expect(processes()).toEqual([]), 10_000);
  });
});

test("of 12 agent sessions at once no more than max stdio servers are left", async () => {
  const { run, processes } = startNamed({ pool: { max: 3 } });
  const chats = Array.from({ length: 12 }, (_, index) => `chat ${index}`);
  const pids = await Promise.all(chats.map((chat) => run(pid, { chat })));
  expect(new Set(pids).size).toBe(12);
  await vi.waitFor(() => expect(processes()).toHaveLength(3), 20_000);
}, 60_000);
