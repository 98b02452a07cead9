import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { createMemoryStore } from "@durable-mcp/core";
import { tool } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { isOfProgress } from "../../test/collect-events.ts";
import { isInUse } from "../../test/counted-sessions.ts";
import { startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { add, options, startNotebookSessions, wait } from "../../test/notebook-sessions.ts";
import { notebook } from "../../test/saved-session.ts";
import { scriptedModel, toolResults, type Turn } from "@durable-mcp/testing/ai-sdk";
import { alice } from "../../test/step.ts";
import { createDurableAgent } from "./durable-agent.ts";

const list = { tool: "notes__list_notes" };
const prompt = "Keep my notes.";

const ownTool = (name: string) =>
  tool({ description: name, inputSchema: z.object({}), execute: () => `own ${name}` });
/** A notebook, durable sessions with it, and agents on scripted models. */
async function startAgents(store = createMemoryStore()) {
  const counted = await startNotebookSessions(store);
  const { sessions, leases, releases } = counted;
  return {
    ...counted,
    agent: (...turns: Turn[]) => {
      const model = scriptedModel(...turns);
      return Object.assign(createDurableAgent({ sessions, model }), { model });
    },
    /** That each lease was released once and its clients are closed. */
    expectReleased: async (count: number) => {
      await vi.waitFor(() => expect(releases).toHaveLength(count));
      expect(leases).toHaveLength(count);
      for (const lease of leases) expect(await isInUse(lease)).toBe(false);
      expect(new Set(releases).size).toBe(count);
    },
  };
}

describe("a durable agent", () => {
  test("goes on with one MCP session from call to call, and releases it after each", async () => {
    const { agent, server, expectReleased } = await startAgents();
    const first = agent([add("a")], "Noted.");
    expect((await first.generate({ prompt, options })).text).toBe("Noted.");
    await expectReleased(1);
    const second = agent([add("b")], [list], "Done.");
    const result = await second.stream({ prompt, options });
    expect(await result.text).toBe("Done.");
    await expectReleased(2);
    expect(toolResults(second.model)).toEqual(["2 notes", "a, b"]);
    expect(server.sessionIds).toHaveLength(1);
  });

  test("has written all when a call resolves, for a process that then ends", async () => {
    const store = createMemoryStore();
    const written: string[] = [];
    const { agent } = await startAgents({
      ...store,
      async put(...record) {
        written.push("begun");
        await new Promise((resolve) => setTimeout(resolve, 20));
        const result = await store.put(...record);
        written.push("done");
        return result;
      },
    });
    const counts = () =>
      ["begun", "done"].map((each) => written.filter((at) => at === each).length);
    await agent([list], "Done.").generate({ prompt, options });
    const [begun, done] = counts();
    expect(done).toBe(begun);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(counts()).toEqual([begun, done]);
    expect(done).toBeGreaterThan(0);
  });

  test("has tools of its own too; one named like a connection's takes its place", async () => {
    const { sessions } = await startAgents();
    const model = scriptedModel([{ tool: "clock" }, list, add("a")], "Done.");
    const agent = createDurableAgent({
      sessions,
      model,
      tools: { clock: ownTool("clock"), notes__list_notes: ownTool("list") },
    });
    expect(Object.keys(agent.tools)).toEqual(["clock", "notes__list_notes"]);
    await agent.generate({ prompt, options });
    expect(toolResults(model)).toEqual(["text: own clock", "text: own list", "1 notes"]);
  });

  test("takes call options of its own beside the session's, and prepares calls with both", async () => {
    const { sessions } = await startAgents();
    const model = scriptedModel("Done.", "Done.");
    const seen: unknown[] = [];
    const agent = createDurableAgent({
      sessions,
      model,
      callOptionsSchema: z.strictObject({ tone: z.enum(["kind", "curt"]) }),
      prepareCall: ({ options: all, ...call }) => {
        seen.push(all);
        return { ...call, instructions: `Be ${all?.tone}.` };
      },
    });
    await agent.generate({ prompt, options: { ...options, tone: "kind" } });
    expect(seen).toEqual([{ ...options, tone: "kind" }]);
    expect(model.doGenerateCalls[0]?.prompt[0]).toMatchObject({ content: "Be kind." });
    await expect(
      agent.generate({ prompt, options: { ...options, tone: "rude" as "kind" } }),
    ).rejects.toThrow(/options/);
    const without = options as typeof options & { tone: "kind" };
    await expect(agent.generate({ prompt, options: without })).rejects.toThrow(/options/);
  });

  test.each<[string, object | undefined, string]>([
    ["no principal", { sessionId: "chat-1" }, "PRINCIPAL_REQUIRED"],
    ["no session", { principal: alice }, "CONNECTION_INVALID"],
    ["no options", undefined, "CONNECTION_INVALID"],
  ])("refuses a call with %s", async (_, wrong, code) => {
    const { agent, leases } = await startAgents();
    const call = { prompt, options: wrong as typeof options };
    await expect(agent("Done.").generate(call)).rejects.toMatchObject({ code });
    await expect(agent("Done.").stream(call)).rejects.toMatchObject({ code });
    expect(leases).toHaveLength(0);
  });
});

describe("a run of a durable agent releases its session once", () => {
  test("when generating fails", async () => {
    const { sessions, expectReleased } = await startAgents();
    const agent = createDurableAgent({
      sessions,
      model: new MockLanguageModelV4({
        doGenerate: () => Promise.reject(new Error("The model broke.")),
      }),
      maxRetries: 0,
    });
    await expect(agent.generate({ prompt, options })).rejects.toThrow("The model broke.");
    await expectReleased(1);
  });

  test("when generating is aborted during a call", async () => {
    const { agent, server, expectReleased } = await startAgents();
    const controller = new AbortController();
    const run = agent([wait], "Done.").generate({
      prompt,
      options,
      abortSignal: controller.signal,
    });
    const outcome = run.then(undefined, (error: unknown) => error);
    await vi.waitFor(() => expect(server.waits).toEqual(["started"]));
    controller.abort();
    expect(await outcome).toMatchObject({ name: "AbortError" });
    await expectReleased(1);
  });

  test("when it is aborted before it begins", async () => {
    const { agent, leases } = await startAgents();
    const abortSignal = AbortSignal.abort();
    const call = { prompt, options, abortSignal };
    await expect(agent("Done.").generate(call)).rejects.toMatchObject({ name: "AbortError" });
    await expect(agent("Done.").stream(call)).rejects.toMatchObject({ name: "AbortError" });
    expect(leases).toHaveLength(0);
  });

  test("when nobody reads a stream", async () => {
    const { agent, server, expectReleased } = await startAgents();
    await agent([add("a")], [list], "Done.").stream({ prompt, options });
    await expectReleased(1);
    expect(server.log.filter((entry) => entry === "POST tools/call")).toHaveLength(2);
  });

  test("when a reader cancels the response", async () => {
    const { agent, server, releases, expectReleased } = await startAgents();
    const result = await agent([wait], "Done.").stream({ prompt, options });
    const response = result.toUIMessageStreamResponse();
    await vi.waitFor(() => expect(server.waits).toEqual(["started"]));
    await response.body?.cancel();
    // Nobody aborted it, so the call goes on and the session is kept for it.
    expect(releases).toEqual([]);
    server.release();
    await expectReleased(1);
  });

  test("when a stream is aborted during a call that never ends", async () => {
    const { agent, server, expectReleased } = await startAgents();
    const controller = new AbortController();
    const result = await agent([wait], "Done.").stream({
      prompt,
      options,
      abortSignal: controller.signal,
    });
    const outcome = result.text.then(undefined, () => "rejected");
    await vi.waitFor(() => expect(server.waits).toEqual(["started"]));
    controller.abort();
    await expectReleased(1);
    expect(await outcome).toBe("rejected");
    await vi.waitFor(() => expect(server.waits).toEqual(["started", "aborted"]));
  });

  test("when the model fails before and during a stream", async () => {
    const { sessions, expectReleased } = await startAgents();
    const failures = [
      () => Promise.reject(new Error("The model broke.")),
      () =>
        Promise.resolve({
          stream: new ReadableStream({
            start: (controller) => controller.error(new Error("The line broke.")),
          }),
        }),
    ];
    for (const [index, doStream] of failures.entries()) {
      const model = new MockLanguageModelV4({ doStream });
      const agent = createDurableAgent({
        sessions,
        model,
        maxRetries: 0,
        onError: () => undefined,
      });
      const result = await agent.stream({ prompt, options });
      await expectReleased(index + 1);
      await expect(result.text).rejects.toBeInstanceOf(Error);
    }
  });

  test("when what prepares a stream throws", async () => {
    const { sessions, expectReleased } = await startAgents();
    const agent = createDurableAgent({
      sessions,
      model: scriptedModel("Done."),
      prepareCall: () => {
        throw new Error("The preparation broke.");
      },
    });
    await expect(agent.stream({ prompt, options })).rejects.toThrow("The preparation broke.");
    await expectReleased(1);
  });
});

describe("an open durable agent", () => {
  test("has the tools of the connections, and is released when it is disposed of", async () => {
    const { agent, releases, expectReleased } = await startAgents();
    const own = agent([add("a")], "Noted.", [list], "Done.");
    {
      await using open = await own.open(options);
      expect(Object.keys(open.tools)).toContain("notes__add_note");
      expect(Object.keys(own.tools)).toEqual([]);
      await open.generate({ prompt });
      await open.generate({ prompt });
      expect(releases).toEqual([]);
      expect(toolResults(own.model)).toEqual(["a"]);
    }
    await expectReleased(1);
  });

  test("is kept by its stream when it is disposed of", async () => {
    const { agent, server, releases, expectReleased } = await startAgents();
    const open = await agent([wait], "Done.").open(options);
    const result = await open.stream({ prompt });
    await open.dispose();
    await vi.waitFor(() => expect(server.waits).toEqual(["started"]));
    expect(releases).toEqual([]);
    server.release();
    expect(await result.text).toBe("Done.");
    await open.closed;
    await expectReleased(1);
  });

  // What `return open.generate(…)` without `await` does below an `await using`.
  test("is kept by a call that is still on its way when it is disposed of", async () => {
    const { agent, expectReleased } = await startAgents();
    const session = await agent([add("a")], "Noted.").open(options);
    const generating = session.generate({ prompt });
    await session.dispose();
    expect(JSON.stringify((await generating).steps[0]?.toolResults)).toContain("1 notes");
    await expectReleased(1);
    const next = await agent([add("b")], "Noted.").open(options);
    const streaming = next.stream({ prompt });
    await next.dispose();
    const { steps } = await streaming;
    expect(JSON.stringify((await steps)[0]?.toolResults)).toContain("2 notes");
    await expectReleased(2);
    await expect(next.generate({ prompt })).rejects.toThrow(/run is closed/);
  });
});

describe("an agent of connections and a store", () => {
  test("goes on with its session, tells one observer, and ends it", async () => {
    const server = await startNotebookServer();
    const types: string[] = [];
    const start = (...turns: Turn[]) =>
      createDurableAgent({
        connections: {
          notes: notebook(server),
        },
        store,
        onEvent: {
          every: (event) =>
            event.type === "client" || isOfProgress(event) || types.push(event.type),
        },
        model: scriptedModel(...turns),
      });
    const store = createMemoryStore();
    await start([add("a")], "Noted.").generate({ prompt, options });
    const agent = start([add("b")], "Noted.");
    const result = await agent.stream({ prompt, options });
    expect(await result.text).toBe("Noted.");
    expect(server.sessionIds).toHaveLength(1);
    expect(types).toEqual(["started", "resumed"]);

    const { sessionId, principal } = options;
    expect(await agent.sessions.end(sessionId, { principal })).toMatchObject([{ ended: true }]);
    expect(server.liveSessions()).toBe(0);
    await agent.sessions.shutdown();
    await expect(agent.generate({ prompt, options })).rejects.toMatchObject({
      code: "CONNECTION_UNAVAILABLE",
    });
  });

  test.each([
    ["connections", { sessions: {}, connections: {} }],
    ["store", { sessions: {}, store: {} }],
    ["pool", { sessions: {}, pool: {} }],
    ["connections", { store: createMemoryStore() }],
  ])("refuses %s: %j", (field, settings: object) => {
    const start = () => createDurableAgent({ model: scriptedModel(), ...settings } as never);
    expect(start).toThrow(expect.objectContaining({ code: "CONNECTION_INVALID", data: { field } }));
  });
});

test("a process ends by itself after streams that nobody reads, with nothing left open", async () => {
  const server = await startNotebookServer();
  const program = fileURLToPath(new URL("../../test/abandoned-stream-program.ts", import.meta.url));
  const child = spawn(process.execPath, [
    "--conditions=@durable-mcp/source",
    "--unhandled-rejections=strict",
    program,
    server.url,
  ]);
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  const [code] = (await once(child, "exit")) as [number | null];
  expect({ stdout, stderr, code }).toEqual({
    stdout: "finished released\naborted released\n",
    stderr: "",
    code: 0,
  });
  expect(server.sessionIds).toHaveLength(1);
  await vi.waitFor(async () => expect(await server.openConnections()).toBe(0));
}, 20_000);
