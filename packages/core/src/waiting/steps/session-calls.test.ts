/** Calls of the session era, and the streams of their answers. */

import { expect, test, vi } from "vitest";
import { createGate, url, watchStore } from "../../../test/asking-server.ts";
import { done, event, question, startStream } from "../../../test/call-stream.ts";
import { createMemoryStore } from "../../index.ts";
import { answerWaitingCall, waitingCallOf } from "../index.ts";
import type { createWaitingFetch } from "./waiting-fetch.ts";

const task = {
  taskId: "7",
  status: "working",
  ttl: null,
  pollInterval: 100,
  createdAt: "2026-11-28",
};

test("what comes while a call is left is for whoever looks next, and its client has the placeholder", async () => {
  const gate = createGate();
  const store = watchStore(createMemoryStore(), (name) => name === "put" && gate.opened);
  const server = startStream({ store });
  server.say(event("1"));
  const answer = server.call();
  await vi.waitFor(() => expect(store.operations).toContain("put"));
  server.say(event("2", { id: 0, result: done }));
  server.close();
  await new Promise((resolve) => setTimeout(resolve, 20));
  gate.open();
  expect(waitingCallOf((await answer).result)).toMatchObject({ type: "stream" });
  expect(await server.check()).toMatchObject({ state: "settled" });
});

test("of two questions that come at once each waits", async () => {
  const server = startStream();
  server.say(event("1"));
  const { id } = waitingCallOf((await server.call()).result)!;
  server.say(event("2", question(5)), event("3", question(6)));
  expect((await server.check())?.requests).toHaveProperty("5");
  const yes = { action: "accept", content: {} } as const;
  const { fetch, waiting } = server;
  const answered = await answerWaitingCall(waiting, id, { 5: yes }, { fetch });
  expect(answered.call).toMatchObject({ type: "question", requests: { 6: { params: {} } } });
  await answerWaitingCall(waiting, id, { 6: yes }, { fetch });
  server.say(event("4", { id: 0, result: done }));
  await server.check();
  expect(await waiting.find(id)).toMatchObject({ call: { state: "settled" }, result: done });
});

test("a question too long to be kept ends a call whose server has begun, and its fate is told", async () => {
  const server = startStream();
  server.say(event("1"));
  const { id } = waitingCallOf((await server.call()).result)!;
  const { method, params } = question(5);
  const message = "Why? ".repeat(100_001);
  server.say(event("2", { id: 5, method, params: { ...params, message } }));
  expect(await server.check()).toMatchObject({ state: "settled" });
  expect((await server.waiting.find(id))?.error?.message).toMatch(
    /can wait. How far its server had got is unknown; check before you make it again.$/,
  );
});

test("a task that comes when its call was left is followed", async () => {
  const server = startStream();
  server.say(event("1"));
  const { id } = waitingCallOf((await server.call()).result)!;
  server.say(event("2", { id: 0, result: { task } }));
  expect(await server.check()).toMatchObject({ type: "task", state: "waiting", status: "working" });
  expect((await server.waiting.find(id))?.result).toBeUndefined();
});

test("an answer that fails, and the words for how a task is, have no id of the call", async () => {
  const server = startStream();
  server.say(event("secret-event-1"));
  const { id } = waitingCallOf((await server.call()).result)!;
  const message = "No secret-session, no secret-event-1.";
  server.say(event("secret-event-2", { id: 0, error: { code: 1, message } }));
  await server.check();
  expect((await server.waiting.find(id))?.error?.message).toBe("No [id], no [id].");
  const other = startStream();
  other.say(event("1"));
  await other.call();
  const named = { ...task, taskId: "secret-task", statusMessage: "secret-task is at 7 %" };
  other.say(event("2", { id: 0, result: { task: named } }));
  expect(await other.check()).toMatchObject({ statusMessage: "[id] is at 7 %" });
});

test("a record that was written first is given up when its call is stopped", async () => {
  const store = createMemoryStore();
  const touch = vi.spyOn(store, "touch" as never);
  const { waiting } = startStream({ store, record: "first" });
  const stop = new AbortController();
  const params = { name: "research", arguments: {} };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 0, method: "tools/call", params });
  const hanging: typeof globalThis.fetch = async () => {
    stop.abort();
    throw stop.signal.reason;
  };
  const wrapped: ReturnType<typeof createWaitingFetch> = waiting.wrap(hanging);
  vi.useFakeTimers();
  const init = { method: "POST", body, signal: stop.signal };
  const notes = { toolCallId: "1", stop: stop.signal };
  await expect(wrapped(url, init, notes)).rejects.toThrow("aborted");
  await vi.advanceTimersByTimeAsync(120_000);
  vi.useRealTimers();
  expect(touch).not.toHaveBeenCalled();
});

test("is looked at when the process is gone that looked at it", async () => {
  const server = startStream();
  server.say(event("1"));
  await server.call();
  server.say(event("2", { id: 0, result: done }));
  const { store } = server;
  const { records } = await store.list({ prefix: "[", limit: 9 });
  const [{ key, value, owner, revision }] = records as any;
  const claimed = { ...value, state: "answering", claim: { token: "t", at: Date.now() } };
  await store.put(key, claimed, revision, { owner });
  expect(await server.check()).toBeUndefined();
  expect(await server.check(90_000)).toMatchObject({ state: "settled" });
});

test("of two steps that make the same call at once one sends it, where its record is first", async () => {
  const created: string[] = [];
  const store = watchStore(createMemoryStore(), async (name) => {
    if (name !== "put") return;
    created.push(name);
    // Both have found no record.
    await vi.waitFor(() => expect(created.length).toBeGreaterThan(1));
  });
  const { sent, waiting, fetch } = startStream({ store, record: "first" });
  const params = { name: "research", arguments: {} };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 0, method: "tools/call", params });
  const send = async () => {
    const wrapped: ReturnType<typeof createWaitingFetch> = waiting.wrap(fetch);
    return await wrapped(url, { method: "POST", body }, { toolCallId: "1" });
  };
  const answers = await Promise.all([send(), send()]);
  expect(sent).toHaveLength(1);
  const other = answers.find(({ headers }) => headers.get("content-type") === "application/json");
  expect(waitingCallOf(((await other!.json()) as { result: unknown }).result)).toBeDefined();
});
