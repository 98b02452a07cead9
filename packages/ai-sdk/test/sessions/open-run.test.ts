import { getEventListeners } from "node:events";
import { createMemoryStore } from "@durable-mcp/core";
import { stepCountIs, streamText } from "ai";
import { describe, expect, test, vi } from "vitest";
import { startProcess } from "../durable-process.ts";
import { startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { streamingModel } from "../streaming-model.ts";
import { alice, callForText, openAndList } from "../step.ts";
import type { OpenRun } from "../../src/index.ts";

const use = { principal: alice };
/** What a run of at most three model calls with the lease's tools is told. */
const settings = async (run: Pick<OpenRun<any>, "tools">) => ({
  tools: await run.tools(),
  prompt: "go",
  stopWhen: stepCountIs(3),
});

async function openLease(abortSignal?: AbortSignal) {
  const server = await startNotebookServer();
  const process = startProcess(server, createMemoryStore());
  const lease = await openAndList(process.sessions, "chat", { ...use, abortSignal });
  let isClosed = false;
  void lease.closed.finally(() => {
    isClosed = true;
  });
  return { ...process, server, lease, isClosed: () => isClosed };
}

const isReleased = (lease: Awaited<ReturnType<typeof openLease>>["lease"]) =>
  lease.client("notes").then(
    () => false,
    () => true,
  );

describe("a lease", () => {
  test("is released when it goes out of scope", async () => {
    const { sessions } = await openLease();
    const lease = await openAndList(sessions, "other", use);
    expect(await callForText(await lease.tools(), "notes__list_notes")).toBe("");
    // What `await using` does; Node 22 does not know it.
    await lease[Symbol.asyncDispose]();
    expect(await isReleased(lease)).toBe(true);
  });

  test("can be disposed of twice, and not attached to after that", async () => {
    const { lease, isClosed } = await openLease();
    await Promise.all([lease.dispose(), lease.dispose()]);
    expect(isClosed()).toBe(true);
    const result = streamText({ model: streamingModel(), prompt: "go" });
    expect(() => lease.attach(result)).toThrow(/run is closed/);
  });
});

describe("an attached stream", () => {
  test("holds the lease to its end, while disposing returns at once", async () => {
    const { lease, isClosed } = await openLease();
    const held = Promise.withResolvers<void>();
    const model = streamingModel({ hold: () => held.promise });
    const result = lease.attach(streamText({ model, ...(await settings(lease)) }));
    await lease.dispose();
    const response = result.toUIMessageStreamResponse();
    expect(isClosed()).toBe(false);
    held.resolve();
    expect(await response.text()).toContain("done");
    await lease.closed;
    expect(await isReleased(lease)).toBe(true);
  });

  test.each([
    ["the run", (run: AbortSignal) => ({ run, lease: undefined })],
    ["the lease", (lease: AbortSignal) => ({ run: undefined, lease })],
    ["both", (both: AbortSignal) => ({ run: both, lease: both })],
  ])("releases the lease when %s is aborted", async (_, signals) => {
    const controller = new AbortController();
    const { run, lease: ofLease } = signals(controller.signal);
    const { lease, isClosed } = await openLease(ofLease);
    const model = streamingModel({ hold: () => new Promise(() => {}) });
    const result = lease.attach(
      streamText({
        model,
        ...(await settings(lease)),
        ...(run && { abortSignal: run }),
        // A callback that never returns is not waited for.
        onAbort: () => new Promise<void>(() => {}),
      }),
    );
    await lease.dispose();
    const reader = result.stream.getReader();
    await reader.read();
    expect(isClosed()).toBe(false);
    controller.abort();
    await lease.closed;
  });

  test("releases the lease at once when its signal was aborted before", async () => {
    const controller = new AbortController();
    const { lease } = await openLease(controller.signal);
    const tools = await lease.tools();
    controller.abort();
    lease.attach(streamText({ model: streamingModel(), tools, prompt: "go" }));
    await lease.dispose();
    await expect(lease.closed).resolves.toBeUndefined();
  });

  test("leaves no listener on a signal that outlives it", async () => {
    const { signal } = new AbortController();
    const { lease } = await openLease(signal);
    const listeners = () => getEventListeners(signal, "abort").length;
    const before = listeners();
    const result = lease.attach(streamText({ model: streamingModel(), prompt: "go" }));
    expect(listeners()).toBe(before + 1);
    await result.text;
    await vi.waitFor(() => expect(listeners()).toBe(before));
    await lease.dispose();
  });

  test("does not keep the lease from another stream", async () => {
    const { lease, isClosed } = await openLease();
    const held = Promise.withResolvers<void>();
    const first = lease.attach(streamText({ model: streamingModel(), ...(await settings(lease)) }));
    const second = lease.attach(
      streamText({
        model: streamingModel({ hold: () => held.promise }),
        ...(await settings(lease)),
      }),
    );
    await lease.dispose();
    expect(await first.text).toBe("done");
    expect(isClosed()).toBe(false);
    held.resolve();
    expect(await second.text).toBe("done");
    await lease.closed;
  });
});
