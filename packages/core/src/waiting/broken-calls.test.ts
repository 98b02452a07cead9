/** Calls whose network, client or process breaks at the wrong time. Each was found by the simulation. */

import { expect, test, vi } from "vitest";
import { createGate, principal, url, watchStore } from "../../test/asking-server.ts";
import { event, question, startStream } from "../../test/call-stream.ts";
import { createMemoryStore, McpSessionError } from "../index.ts";
import { answerWaitingCall, createWaitingCalls, waitingCallOf } from "./index.ts";
import type { createWaitingFetch } from "./steps/waiting-fetch.ts";

// The stream went on for the client, who was asked, and later stopped the call.
test("a client whose stream breaks while its call is left has the placeholder", async () => {
  const gate = createGate();
  const store = watchStore(createMemoryStore(), (name) => name === "put" && gate.opened);
  const server = startStream({ store });
  server.say(event("1"));
  const answer = server.call();
  await vi.waitFor(() => expect(store.operations).toContain("put"));
  server.breakOff();
  gate.open();
  await expect(answer).rejects.toThrow("terminated");
  const [, data] = (await server.resume("1")).split("data: ");
  expect(waitingCallOf(JSON.parse(data!).result)).toMatchObject({ state: "waiting" });
  expect((await server.cancel(0)).status).toBe(202);
  expect(server.sent).toHaveLength(1);
});

// The call would have waited for a server that was told to stop.
test.each([
  ["before it is sent", 0],
  ["before its stream has an event", 1],
])("a call whose cancellation the server gets %s is not left afterwards", async (_when, sent) => {
  const server = startStream();
  const answer = server.call();
  await server.until(sent);
  expect((await server.cancel(0)).status).toBe(202);
  expect(server.sent[sent]!.body.method).toBe("notifications/cancelled");
  await server.until(2);
  await new Promise((resolve) => setTimeout(resolve, 20));
  server.say(event("1"));
  server.close();
  await answer;
  expect(await server.waiting.list()).toEqual([]);
});

// Such a record waited for nothing, and was "not carried out" after a week.
test("of a call whose record was first and whose process is gone nobody knows the outcome, whatever its tool", async () => {
  let aheadMs = 0;
  const waiting = createWaitingCalls({
    ...{ store: createMemoryStore(), sessionId: "chat", principal, connection: "lab", url },
    ...{ record: "first", safeTools: ["research"] },
    now: () => Date.now() + aheadMs,
  });
  const broken = vi.fn<typeof globalThis.fetch>().mockRejectedValue(new TypeError("terminated"));
  const params = { name: "research", arguments: {} };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 0, method: "tools/call", params });
  const wrapped: ReturnType<typeof createWaitingFetch> = waiting.wrap(broken);
  await expect(wrapped(url, { method: "POST", body }, { toolCallId: "1" })).rejects.toThrow(
    "terminated",
  );
  const [{ id } = { id: "" }] = await waiting.list();
  aheadMs = 90_000;
  expect(await waiting.find(id)).toMatchObject({ call: { state: "outcome-unknown" } });
});

// A proxy's 408 took the record away, and the step, run again, sent the call again.
test.each([
  [408, {}, 1],
  [503, {}, 1],
  [503, { "retry-after": "1" }, 2],
  [429, {}, 2],
])(
  "after HTTP %i %o a call whose record was first is sent %i times",
  async (status, headers, times) => {
    const { waiting } = startStream({ record: "first" });
    const refusing = vi.fn<typeof globalThis.fetch>(
      async () => new Response("", { status, headers }),
    );
    const wrapped: ReturnType<typeof createWaitingFetch> = waiting.wrap(refusing);
    const params = { name: "research", arguments: {} };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 0, method: "tools/call", params });
    const send = async () => await wrapped(url, { method: "POST", body }, { toolCallId: "1" });
    expect((await send()).status).toBe(status);
    await send();
    expect(refusing).toHaveBeenCalledTimes(times);
  },
);

// Its record stayed, and was found in place of the call that waits for the sign-in: its outcome was unknown.
test("a call that has met a locked door leaves no record that was written first", async () => {
  const { waiting } = startStream({ record: "first" });
  const data = { reason: "authorization-required", connection: "lab", scopes: [] } as const;
  const locked = new McpSessionError("AUTHORIZATION_REQUIRED", "Sign in.", { data });
  const wrapped: ReturnType<typeof createWaitingFetch> = waiting.wrap(async () => {
    throw locked;
  });
  const params = { name: "research", arguments: {} };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 0, method: "tools/call", params });
  await expect(wrapped(url, { method: "POST", body }, { toolCallId: "1" })).rejects.toBe(locked);
  expect(await waiting.list()).toEqual([]);
});

// Its id does not count, so it came again after its answer, and was answered again.
test("a question that was cut off is asked when it has come whole", async () => {
  const server = startStream();
  server.say(event("1"));
  const { id } = waitingCallOf((await server.call()).result)!;
  server.say(event("2", question(5)).trimEnd());
  expect(await server.check()).toMatchObject({ state: "waiting", type: "stream" });
  server.say("\n\n");
  expect(await server.check()).toMatchObject({ type: "question" });
  const { fetch, waiting } = server;
  const yes = { action: "accept", content: {} } as const;
  const { call } = await answerWaitingCall(waiting, id, { 5: yes }, { fetch });
  expect(call).toMatchObject({ state: "waiting", type: "stream" });
});

// It waited until the stream ended, for hours perhaps.
test("a client that resumes its stream while its call is left has the placeholder at once", async () => {
  const gate = createGate();
  const server = startStream({ onResume: gate.opened, afterMs: 50 });
  server.say(event("1"));
  const answer = server.call();
  await server.until(1);
  await new Promise((resolve) => setTimeout(resolve, 10));
  server.breakOff();
  await expect(answer).rejects.toThrow("terminated");
  const resumed = server.resume("1");
  await server.until(2);
  await vi.waitFor(async () => expect(await server.waiting.list()).toHaveLength(1));
  gate.open();
  const [, data] = (await resumed).split("data: ");
  expect(waitingCallOf(JSON.parse(data!).result)).toMatchObject({ state: "waiting" });
});
