/** What a step of `sessions.run` gives back while it is still streaming. */
import { setTimeout as wait } from "node:timers/promises";
import { stepCountIs, streamText, tool, ToolLoopAgent, type ToolSet } from "ai";
import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { startStored } from "../durable-process.ts";
import { isInUse } from "../counted-sessions.ts";
import { startHttpServer } from "../../../core/test/http-server.ts";
import { startRuns } from "../run.ts";
import { alice } from "../step.ts";
import { streamingModel } from "../streaming-model.ts";
import { type ConnectionRun, currentConnections, withConnections } from "../../src/index.ts";

type Model = ReturnType<typeof streamingModel>;

const addNote = { tool: "notes__add_note", input: { text: "milk" } };
const settings = { prompt: "go", stopWhen: stepCountIs(3) };

/** Durable sessions with a notebook, and the last run. */
async function startSessions() {
  const { server, sessions } = await startStored();
  let registry: ConnectionRun<any>;
  const run = async <T>(
    step: (run: ConnectionRun<any>) => T | PromiseLike<T>,
    abortSignal?: AbortSignal,
  ): Promise<T> =>
    await sessions.run("chat", { principal: alice, abortSignal }, (own) => {
      registry = own;
      return step(own);
    });
  return {
    server,
    run,
    isOpen: () => isInUse(registry),
    expectClosed: () => vi.waitFor(async () => expect(await isInUse(registry)).toBe(false)),
  };
}

const stream = (tools: ToolSet, model: Model = streamingModel(addNote)) =>
  streamText({ model, tools, ...settings });

/** A model that calls a tool and then waits for `go` before it says its text. */
function startHeldModel(call = addNote) {
  const held = Promise.withResolvers<void>();
  return { model: streamingModel({ ...call, hold: () => held.promise }), go: held.resolve };
}

describe("a stream that a run gives back", () => {
  test.each<[string, (tools: ToolSet) => unknown, (given: any) => Promise<string>]>([
    [
      "a result of streamText",
      (tools) => stream(tools),
      (result) => result.toUIMessageStreamResponse().text(),
    ],
    [
      "a response of UI messages",
      (tools) => stream(tools).toUIMessageStreamResponse(),
      (response) => response.text(),
    ],
    [
      "a response of text",
      (tools) => stream(tools).toTextStreamResponse(),
      (response) => response.text(),
    ],
    [
      "a stream",
      (tools) => stream(tools).textStream,
      (readable) => new Response(readable.pipeThrough(new TextEncoderStream())).text(),
    ],
    [
      "a result of an agent",
      (tools) =>
        new ToolLoopAgent({ model: streamingModel(addNote), tools }).stream({ prompt: "go" }),
      (result) => result.text,
    ],
  ])("has its tools until it has ended: %s", async (_, step, read) => {
    const { run, server, expectClosed } = await startSessions();
    const given = await run(async (own) => step(await own.tools()));
    expect(await read(given)).toContain("done");
    await expectClosed();
    expect(await run((own) => own.call("notes", "list_notes"))).toMatchObject({
      content: [{ text: "milk" }],
    });
    expect(server.sessionIds).toHaveLength(1);
  });

  test("is given at once, and the session held while it goes on", async () => {
    const { run, isOpen, expectClosed } = await startSessions();
    const { model, go } = startHeldModel();
    const result = await run(async (own) => stream(await own.tools(), model));
    expect(await isOpen()).toBe(true);
    go();
    expect(await result.text).toBe("done");
    await expectClosed();
  });

  test("is the same object, and a stream another that is read in its place", async () => {
    const { run } = await startSessions();
    const made = new Response("a");
    expect(await run(() => made)).toBe(made);
    const readable = new Response("b").body!;
    const given = await run(() => readable);
    expect(given).not.toBe(readable);
    expect(await new Response(given).text()).toBe("b");
  });

  test.each<[string, (tools: ToolSet) => unknown]>([
    ["a result", (tools) => stream(tools)],
    ["a response", (tools) => stream(tools).toUIMessageStreamResponse()],
    ["a stream", (tools) => stream(tools).textStream],
  ])("is read to its end when nobody reads it: %s", async (_, step) => {
    const { run, server, expectClosed } = await startSessions();
    await run(async (own) => step(await own.tools()));
    await expectClosed();
    expect(server.log).toContain("POST tools/call");
  });

  test("is read to its end when its reader goes away", async () => {
    const { run, isOpen, expectClosed } = await startSessions();
    const { model, go } = startHeldModel();
    let text: PromiseLike<string> | undefined;
    const response = await run(async (own) => {
      const result = stream(await own.tools(), model);
      ({ text } = result);
      return result.toUIMessageStreamResponse();
    });
    const reader = response.body!.getReader();
    await reader.read();
    void reader.cancel();
    expect(await isOpen()).toBe(true);
    go();
    await expectClosed();
    expect(await text).toBe("done");
  });

  test.each<[string, (result: ReturnType<typeof stream>) => unknown]>([
    ["a result", (result) => result],
    ["a response", (result) => result.toUIMessageStreamResponse()],
    ["a stream", (result) => result.textStream],
  ])("is let go of when its signal aborts, and its calls are cancelled: %s", async (_, give) => {
    const { run, server, expectClosed } = await startSessions();
    const { signal, abort } = startAbort();
    await run(
      async (own) =>
        give(
          streamText({
            model: streamingModel({ tool: "notes__wait" }),
            tools: await own.tools(),
            abortSignal: signal,
            ...settings,
          }),
        ),
      signal,
    );
    await vi.waitFor(() => expect(server.waits).toEqual(["started"]));
    abort();
    await expectClosed();
    await vi.waitFor(() => expect(server.waits).toEqual(["started", "aborted"]));
  });

  test("without an end is let go of when its signal aborts, and its source cancelled", async () => {
    const { run, isOpen, expectClosed } = await startSessions();
    const { signal, abort } = startAbort();
    const cancel = vi.fn<() => void>();
    const endless = new ReadableStream({
      start: (controller) => controller.enqueue(new Uint8Array([33])),
      cancel,
    });
    const response = await run(() => new Response(endless), signal);
    const reader = response.body!.getReader();
    expect(await reader.read()).toMatchObject({ done: false });
    void reader.cancel();
    await wait(10);
    expect(cancel).not.toHaveBeenCalled();
    expect(await isOpen()).toBe(true);
    abort();
    await expectClosed();
    await vi.waitFor(() => expect(cancel).toHaveBeenCalledOnce());
  });

  test("that fails before its first part lets go, and its reader is told", async () => {
    const { run, expectClosed } = await startSessions();
    const model = streamingModel();
    model.doStream = () => Promise.reject(new Error("the model is down"));
    const options = { maxRetries: 0, onError: () => undefined };
    const result = await run(async (own) =>
      streamText({ model, tools: await own.tools(), prompt: "go", ...options }),
    );
    await expectClosed();
    expect(await result.toUIMessageStreamResponse().text()).toContain('"type":"error"');

    const broken = new ReadableStream({ start: (each) => each.error(new Error("It broke.")) });
    const response = await run(() => new Response(broken));
    await expectClosed();
    await expect(response.text()).rejects.toThrow("It broke.");
  });

  test("is read to its end when it is piped into a response that its client leaves", async () => {
    const { run, server, isOpen, expectClosed } = await startSessions();
    const model = streamingModel({ tool: "notes__wait" });
    const { origin } = await startHttpServer(async (_, response) => {
      await run(async (own) => {
        const result = stream(await own.tools(), model);
        void result.pipeUIMessageStreamToResponse(response);
        return result;
      });
    });
    const client = startAbort();
    const { body } = await fetch(origin, { signal: client.signal });
    await body!.getReader().read();
    await vi.waitFor(() => expect(server.waits).toEqual(["started"]));
    client.abort();
    await wait(50);
    expect(await isOpen()).toBe(true);
    server.release();
    await expectClosed();
    expect(server.waits).toEqual(["started", "finished"]);
  });

  test("finds the run in the application's own tools, wherever it is read", async () => {
    const { run } = await startSessions();
    const look = tool({
      inputSchema: z.object({}),
      execute: async () => {
        const add = { text: "found" };
        await withConnections({}, (own) => own.call("notes", "add_note", add));
        return await currentConnections().call("notes", "list_notes");
      },
    });
    const model = streamingModel({ tool: "look" });
    const response = await run(() => stream({ look }, model).toUIMessageStreamResponse());
    expect(await response.text()).toContain("found");
  });
});

describe("a stream given back", () => {
  test("by a nested run keeps what is isolated until it has ended", async () => {
    const { create, browser } = await startRuns();
    const { model, go } = startHeldModel({ ...addNote, tool: "browser__add_note" });
    const text = await create().enter(async () => {
      const result = await withConnections({ browser: "isolate" }, async (own) =>
        stream(await own.tools(), model),
      );
      await vi.waitFor(() => expect(browser.log).toContain("POST tools/call"));
      expect(browser.liveSessions()).toBe(1);
      go();
      return await result.text;
    });
    expect(text).toBe("done");
    await vi.waitFor(() => expect(browser.liveSessions()).toBe(0));
  });
});

describe("a run that gives no stream back", () => {
  test.each<[string, () => unknown]>([
    ["a value", () => "done"],
    ["a response that is whole", () => Response.json({ text: "done" })],
    ["a response without a body", () => new Response(null, { status: 204 })],
    [
      "a response that was read",
      async () => {
        const response = new Response("done");
        await response.text();
        return response;
      },
    ],
    [
      "a stream that somebody else reads",
      () => {
        const readable = new ReadableStream();
        readable.getReader();
        return readable;
      },
    ],
    [
      "a stream that was read to its end",
      async () => {
        const result = stream({}, streamingModel());
        await result.text;
        return result;
      },
    ],
  ])("has closed everything when it comes back: %s", async (_, step) => {
    const { run, isOpen } = await startSessions();
    await run(step);
    expect(await isOpen()).toBe(false);
  });

  test("fails with its own error, whatever it had begun to stream", async () => {
    const { run, isOpen } = await startSessions();
    const { model, go } = startHeldModel();
    const outcome = run(async (own) => {
      void stream(await own.tools(), model).consumeStream({ onError: () => undefined });
      throw new Error("The route broke.");
    });
    await expect(outcome).rejects.toThrow("The route broke.");
    expect(await isOpen()).toBe(false);
    go();
  });

  test("tells a stream that was kept back to be given back", async () => {
    const { run } = await startSessions();
    const { result } = await run(async (own) => ({ result: stream(await own.tools()) }));
    expect(JSON.stringify(await result.steps)).toContain("return a stream");
  });
});

function startAbort() {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort() };
}
