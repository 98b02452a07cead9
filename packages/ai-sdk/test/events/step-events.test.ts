import { createMemoryStore, McpSessionError } from "@durable-mcp/core";
import { isStepCount, streamText } from "ai";
import { describe, expect, test, vi } from "vitest";
import { startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { scriptedModel, type Turn } from "@durable-mcp/testing/ai-sdk";
import { alice, callTool } from "../step.ts";
import {
  type ConnectionEvent,
  createConnectionProvider,
  createDurableAgent,
  createDurableSessions,
  defineMcpClientConnection,
  type EventStep,
  type ConnectionRun,
} from "../../src/index.ts";
import { createOperationTracer } from "../../../sessions/src/events/connection-telemetry.ts";

async function startNotes() {
  const server = await startNotebookServer();
  const told: { event: ConnectionEvent; step: EventStep | undefined }[] = [];
  const notes = defineMcpClientConnection({
    ...{ url: server.url, description: "A notebook.", session: "stateful" },
  });
  const provider = createConnectionProvider({
    connections: { notes },
    onEvent: { every: (event, step) => told.push({ event, step }) },
  });
  const sessions = createDurableSessions({ provider, store: createMemoryStore() });
  const run = async <T>(
    use: (run: ConnectionRun<any>) => T | PromiseLike<T>,
    options: { abortSignal?: AbortSignal } = {},
  ) => await sessions.run("chat 7", { principal: alice, ...options }, use);
  return { server, told, run, sessions, provider };
}

/** A model that says these turns, and fails in the next one. */
function failingModel(...turns: Turn[]) {
  const model = scriptedModel(...turns);
  const doStream = model.doStream.bind(model);
  let asked = 0;
  model.doStream = async (options) => {
    if ((asked += 1) > turns.length) throw new Error("The key of the model is wrong.");
    return await doStream(options);
  };
  return model;
}

describe("the events of a step", () => {
  test("name the step and the agent session", async () => {
    const { server, told, run, provider } = await startNotes();
    await run(async (own) => callTool(await own.tools(), "notes__add_note", { text: "one" }));
    const first = told.splice(0);
    server.forgetSessions();
    await run(async (own) => callTool(await own.tools(), "notes__add_note", { text: "two" }));
    const second = told.splice(0);

    const stepsOf = (of: typeof told) => new Set(of.map(({ step }) => step?.id));
    expect(stepsOf(first).size).toBe(1);
    expect(stepsOf(second).size).toBe(1);
    expect(stepsOf(second)).not.toEqual(stepsOf(first));
    expect(second.map(({ event }) => event.type)).toContain("recovered");
    expect(new Set([...first, ...second].map(({ step }) => step?.sessionId))).toEqual(
      new Set(["chat 7"]),
    );
    await provider.shutdown();
    expect(told).toEqual([]);
  });

  test("say which operations were under way, how long, and what became of them", async () => {
    const { told, run } = await startNotes();
    await run(async (own) => {
      await own.tools();
      await own.call("notes", "add_note", { text: "one" });
    });
    const operations = told.flatMap(({ event }) => (event.type === "operation" ? [event] : []));
    expect(operations.map(({ operation, action }) => `${operation} ${action}`)).toEqual([
      "list started",
      "connect started",
      "connect ended",
      "list ended",
      "call started",
      "call ended",
    ]);
    const [start, end] = operations.slice(-2);
    const duration: unknown = expect.any(Number);
    expect(start).toMatchObject({ connection: "notes", tool: "add_note" });
    expect(end).toMatchObject({ number: start!.number, durationMs: duration, outcome: "done" });
    expect(new Set(operations.map(({ number }) => number)).size).toBe(3);
  });

  test("end with one for each connection that was used, which has its requests", async () => {
    const { server, told, run } = await startNotes();
    const use = async () => await run((own) => own.call("notes", "add_note", { text: "one" }));
    await use();
    await use();
    const ends = told.flatMap(({ event }) => (event.type === "step-ended" ? [event] : []));
    const sent = ends.map(({ requests }) => requests);
    expect(sent[1]).toBe(1);
    expect(sent[0]! + sent[1]!).toBe(server.requests.length);
    expect(told.at(-1)!.event).toBe(ends[1]);
  });

  test("end with a failure where the function or the stream of the step failed, and with none after an abort", async () => {
    const { told, run, sessions } = await startNotes();
    const outcomes = () =>
      told.splice(0).flatMap(({ event }) => (event.type === "step-ended" ? [event.outcome] : []));
    const add = [{ tool: "notes__add_note", input: { text: "one" } }];
    const streamed = async (...turns: Turn[]) => {
      const agent = createDurableAgent({ sessions, model: failingModel(...turns), maxRetries: 0 });
      const options = { sessionId: "chat 7", principal: alice };
      const result = await agent.stream({ prompt: "Note.", options });
      await result.consumeStream();
      await vi.waitFor(() => expect(told.at(-1)?.event.type).toBe("step-ended"));
      return outcomes();
    };
    const use = { prompt: "Note.", stopWhen: isStepCount(3), maxRetries: 0 };

    await run(async (own) => callTool(await own.tools(), "notes__add_note", { text: "one" }));
    expect(outcomes()).toEqual([undefined]);
    const fail = async (own: Parameters<Parameters<typeof run>[0]>[0]) => {
      await own.tools();
      throw new Error("no");
    };
    await expect(run(fail)).rejects.toThrow("no");
    expect(outcomes()).toEqual(["failed"]);
    expect(await streamed(add, "Noted.")).toEqual([undefined]);
    expect(await streamed()).toEqual(["failed"]);
    expect(await streamed(add)).toEqual(["failed"]);
    const result = await run(async (own) =>
      streamText({ ...use, tools: await own.tools(), model: failingModel(add) }),
    );
    await result.consumeStream();
    await vi.waitFor(() => expect(told.at(-1)?.event.type).toBe("step-ended"));
    expect(outcomes()).toEqual(["failed"]);
    const controller = new AbortController();
    const aborted = run(
      async (own) => {
        await own.tools();
        controller.abort();
        controller.signal.throwIfAborted();
      },
      { abortSignal: controller.signal },
    );
    await expect(aborted).rejects.toThrow(/abort/);
    await vi.waitFor(() => expect(told.at(-1)?.event.type).toBe("step-ended"));
    expect(outcomes()).toEqual([undefined]);
  });

  test.each([
    [
      "failed, with the code of our error",
      () => new McpSessionError("OUTCOME_UNKNOWN", "no"),
      { outcome: "failed", code: "OUTCOME_UNKNOWN" },
    ],
    ["failed", () => new TypeError("no"), { outcome: "failed" }],
    ["aborted", () => new DOMException("no", "AbortError"), { outcome: "aborted" }],
  ])("say that an operation has %s", async (_, failure, expected) => {
    const events: unknown[] = [];
    const at = { connection: "shop", transport: "http", origin: undefined } as const;
    const trace = createOperationTracer(undefined, (event) => events.push(event), at);
    const failing = trace({ operation: "call", tool: "a" }, () => Promise.reject(failure()));
    await expect(failing).rejects.toThrow("no");
    expect(events[1]).toMatchObject(expected);
  });
});
