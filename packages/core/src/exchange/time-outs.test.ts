import type { ServerResponse } from "node:http";
import { setTimeout } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { eventText, startEvents, startMcpServer } from "../../test/mcp-server.ts";
import { createRpcClient, readMessages } from "../../test/rpc-client.ts";
import { saveSession, startLostStep, startStep } from "../../test/step.ts";

describe("a hung server", () => {
  test.each(["initialize", "notifications/initialized"])(
    "fails the requests that wait for %s, and the next one tries again (S70)",
    async (method) => {
      const { client, server } = await startLostStep({ timeouts: { initializeMs: 1_500 } });
      server.use(({ message }, _response, next) =>
        message?.method === method ? undefined : next(),
      );
      const calls = [0, 1].map((id) => client.request("tools/call", {}, { id }));
      for (const call of calls) {
        await expect(call).rejects.toMatchObject({
          code: "CONNECTION_UNAVAILABLE",
          data: { method },
        });
      }
      server.use((_request, _response, next) => next());
      expect(await client.request("tools/call")).toHaveProperty("result");
      // `initialize` must not be cancelled.
      expect(server.log).not.toContain("POST notifications/cancelled");
    },
  );

  test("fails a call that gets no answer, cancels it, and leaves the session alone (S70)", async () => {
    const server = await startMcpServer();
    const { client, slot } = startStep(server, {
      snapshot: await saveSession(server),
      timeouts: { answerMs: 1_500 },
    });
    server.use(({ message }, _response, next) =>
      message?.params?.name === "hang" ? undefined : next(),
    );
    const [hung, quick] = await Promise.allSettled([
      client.request("tools/call", { name: "hang" }),
      client.request("tools/call", { name: "quick" }),
    ]);
    expect(hung).toMatchObject({
      status: "rejected",
      reason: { code: "OUTCOME_UNKNOWN", message: expect.stringContaining("for 1500 ms") },
    });
    expect(quick).toMatchObject({ status: "fulfilled" });
    await expect.poll(() => server.log).toContain("POST notifications/cancelled");
    const sent = server.requests.find(({ message }) => message.params?.name === "hang");
    expect(server.requests.at(-1)?.message.params.requestId).toBe(sent?.message.id);
    expect(slot).toMatchObject({ changed: false });
  });

  test("that stops in the middle of an answer stream delivers the failure as the answer", async () => {
    const server = await startMcpServer();
    const { client } = startStep(server, {
      snapshot: await saveSession(server),
      timeouts: { answerMs: 1_000 },
    });
    server.use(({ message }, response, next) => {
      if (message?.method !== "tools/call") return next();
      startEvents(response);
      response.write(
        eventText({ jsonrpc: "2.0", method: "notifications/message", params: {} }, "1"),
      );
    });
    expect(await client.request("tools/call")).toMatchObject({
      error: { data: { code: "OUTCOME_UNKNOWN" } },
    });
    // A server that is silent is not asked to go on.
    expect(server.log.filter((entry) => entry === "GET")).toEqual([]);
  });

  test("is not one that shows signs of life", async () => {
    const server = await startMcpServer();
    const { client } = startStep(server, {
      snapshot: await saveSession(server),
      timeouts: { answerMs: 2_000 },
    });
    server.use(async ({ message }, response) => {
      startEvents(response);
      for (let n = 0; n < 8; n += 1) {
        await setTimeout(300);
        response.write(": alive\n\n");
      }
      response.end(eventText({ jsonrpc: "2.0", id: message.id, result: { done: true } }));
    });
    expect(await client.request("tools/call")).toMatchObject({ result: { done: true } });
  });

  test.each([
    ["has all the time of a client that can ask a person", { elicitation: {} }, true],
    ["has its own time after the answer of a client", { elicitation: {} }, false],
    ["has no more time if its client declares no elicitation", {}, false],
  ])("that asks %s", async (_, clientCapabilities, ends) => {
    const server = await startMcpServer();
    const snapshot = { ...(await saveSession(server)), clientCapabilities };
    const step = startStep(server, { snapshot, timeouts: { answerMs: 500 } });
    const client = createRpcClient(step.fetch, server.url);
    let call: { readonly id: unknown; readonly response: ServerResponse } | undefined;
    server.use(({ message }, response) => {
      if (message?.method === "tools/call") {
        call = { id: message.id, response };
        startEvents(response);
        response.write(eventText({ jsonrpc: "2.0", id: "q", method: "elicitation/create" }, "1"));
        return;
      }
      response.writeHead(202).end();
      const { id, response: stream } = call!;
      if (ends) stream.end(eventText({ jsonrpc: "2.0", id, result: { done: true } }));
    });
    const response = await client.post({ jsonrpc: "2.0", id: 7, method: "tools/call" });
    const answering = setTimeout(1_300).then(() =>
      client.post({ jsonrpc: "2.0", id: "q", result: { action: "decline" } }),
    );
    const messages = await readMessages(response);
    await answering;
    const unknown = { error: { data: { code: "OUTCOME_UNKNOWN" } } };
    expect(messages.at(-1)).toMatchObject({
      id: 7,
      ...(ends ? { result: { done: true } } : unknown),
    });
  });

  test("fails a call also when the base fetch heeds no signal", async () => {
    const server = await startMcpServer();
    const snapshot = await saveSession(server);
    const { client } = startStep(server, {
      snapshot,
      timeouts: { answerMs: 20 },
      fetch: () => new Promise(() => {}),
    });
    await expect(client.request("tools/call")).rejects.toMatchObject({ code: "OUTCOME_UNKNOWN" });
  });

  test("fails a call also when the body of the base fetch heeds no signal", async () => {
    const server = await startMcpServer();
    const snapshot = await saveSession(server);
    const step = startStep(server, {
      snapshot,
      timeouts: { answerMs: 20 },
      fetch: () =>
        Promise.resolve(
          new Response(new ReadableStream(), { headers: { "content-type": "application/json" } }),
        ),
    });
    const client = createRpcClient(step.fetch, server.url);
    const response = await client.post({ jsonrpc: "2.0", id: 7, method: "tools/call" });
    expect(await readMessages(response)).toMatchObject([
      { id: 7, error: { data: { code: "OUTCOME_UNKNOWN" } } },
    ]);
  });

  test("fails a call also when a resumption by the base fetch heeds no signal", async () => {
    const server = await startMcpServer();
    const snapshot = await saveSession(server);
    server.use(({ message }, response, next) => {
      if (message?.method !== "tools/call") return next();
      startEvents(response);
      const note = { jsonrpc: "2.0", method: "notifications/message", params: {} };
      response.end(`retry: 1\n${eventText(note, "1")}`);
    });
    const { client } = startStep(server, {
      snapshot,
      timeouts: { answerMs: 1_000 },
      fetch: (input, init) =>
        init?.method === "GET" ? new Promise(() => {}) : globalThis.fetch(input, init),
    });
    expect(await client.request("tools/call")).toMatchObject({
      error: { data: { code: "OUTCOME_UNKNOWN" } },
    });
  });
});
