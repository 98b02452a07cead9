import { setTimeout as sleep } from "node:timers/promises";
import type { WaitingAuthorization } from "@durable-mcp/core/waiting";
import { describe, expect, it, onTestFinished } from "vitest";
import { question, startChatServer } from "../test/chat-server.ts";
import { renderHook } from "../test/render.ts";
import { useWaiting } from "./index.ts";

const signIn: WaitingAuthorization = {
  ...{ type: "sign-in", connection: "account", server: "https://club.example" },
  ...{ scopes: [], startUrl: "/oauth/start?connection=account", askedAt: 1 },
};
const late = 1_000_000;

describe("what waits", () => {
  it("takes a sign-in for blocking only if a call waits for it", async () => {
    const held = { ...question, type: "call-waits-for-sign-in", connection: "account" } as const;
    const task = { ...question, id: "call 2", type: "task" } as const;
    const chat = await startChatServer({ waiting: [signIn, question, task] });
    const { last } = await renderHook(useWaiting, { api: chat.api });
    await expect.poll(() => last().blocking).toEqual([question]);
    expect(last().working).toEqual([task]);
    chat.state = { ...chat.state, waiting: [signIn, held] };
    await last().refresh();
    await expect.poll(() => last().blocking).toEqual([signIn]);
  });
});

describe("when it looks", () => {
  it("looks at intervals while something waits, and draws only what has changed", async () => {
    const chat = await startChatServer({ waiting: [question] });
    const { last, results } = await renderHook(useWaiting, { api: chat.api, intervalMs: 10 });
    await expect.poll(() => chat.looks).toBeGreaterThan(5);
    // The mount, and what it found, each twice in development.
    expect(results.length).toBe(4);
    chat.state = { ...chat.state, waiting: [signIn] };
    await expect.poll(() => last().blocking).toEqual([]);
    await sleep(20);
    const { looks } = chat;
    await sleep(60);
    expect(chat.looks).toBe(looks);
  });

  it("looks when the page gets the focus or is shown, and not while it is hidden", async () => {
    const chat = await startChatServer();
    const initialState = { waiting: [] };
    const { last } = await renderHook(useWaiting, {
      api: chat.api,
      initialState,
      intervalMs: late,
    });
    expect(last().blocking).toEqual([]);
    expect(chat.looks).toBe(0);
    chat.state = { ...chat.state, waiting: [question] };
    window.dispatchEvent(new Event("focus"));
    await expect.poll(() => last().blocking).toEqual([question]);

    chat.state = { ...chat.state, waiting: [] };
    let visibility = "hidden";
    Object.defineProperty(document, "visibilityState", {
      ...{ configurable: true, get: () => visibility },
    });
    onTestFinished(() => void Reflect.deleteProperty(document, "visibilityState"));
    window.dispatchEvent(new Event("focus"));
    await sleep(30);
    expect(chat.looks).toBe(1);
    visibility = "visible";
    document.dispatchEvent(new Event("visibilitychange"));
    await expect.poll(() => last().blocking).toEqual([]);
  });

  it("shows nothing of one chat in another", async () => {
    const [one, other] = [await startChatServer({ waiting: [question] }), await startChatServer()];
    const { last, results, update } = await renderHook(useWaiting, { api: one.api });
    await expect.poll(() => last().blocking).toEqual([question]);
    const before = results.length;
    update({ api: other.api });
    await expect.poll(() => other.looks).toBeGreaterThan(0);
    await expect.poll(() => last().state).toEqual(other.state);
    expect(results.slice(before).flatMap(({ blocking }) => blocking)).toEqual([]);
  });

  it("keeps what it knows when a look fails, and says so", async () => {
    const chat = await startChatServer({ waiting: [question] });
    const { last } = await renderHook(useWaiting, { api: chat.api, intervalMs: 10 });
    await expect.poll(() => last().blocking).toEqual([question]);
    chat.status = 401;
    await expect.poll(() => last().error?.message).toBe("The server refused it.");
    expect(last().blocking).toEqual([question]);
    chat.status = 200;
    window.dispatchEvent(new Event("focus"));
    await expect.poll(() => last().error).toBeUndefined();
  });

  it("looks again by itself after a failure, later each time, and at once when it is online", async () => {
    const chat = await startChatServer();
    chat.status = 502;
    const begun = Date.now();
    const { last } = await renderHook(useWaiting, { api: chat.api });
    // In development the first effect runs twice.
    await expect.poll(() => chat.looks).toBe(2);
    await expect.poll(() => chat.looks).toBe(4);
    // At least 0.5 s and 1 s.
    expect(Date.now() - begun).toBeGreaterThan(1_490);
    window.dispatchEvent(new Event("online"));
    await expect.poll(() => chat.looks, { timeout: 900 }).toBe(5);
    // After 1 s at most, as after a first failure.
    await expect.poll(() => chat.looks, { timeout: 1_400 }).toBe(6);
    chat.status = 200;
    chat.state = { ...chat.state, waiting: [question] };
    window.dispatchEvent(new Event("online"));
    expect(chat.looks).toBe(6);
    await expect.poll(() => last().blocking, { timeout: 900 }).toEqual([question]);
    expect(last().error).toBeUndefined();
  });

  it("gives a request up that is not answered at once, to ask another process", async () => {
    const begun = Date.now();
    const given: number[] = [];
    const fetch = async (_: unknown, { signal }: RequestInit = {}) =>
      await new Promise<Response>((_done, fail) => {
        signal!.addEventListener("abort", () => {
          given.push(Date.now() - begun);
          fail(signal!.reason);
        });
      });
    const { last } = await renderHook(useWaiting, { api: "/chat", fetch: fetch as never });
    const lost = "The server does not answer.";
    await expect.poll(() => last().error?.message, { timeout: 8_000 }).toBe(lost);
    expect(given.at(-1)).toBeGreaterThan(4_900);
  });

  it("goes by the last request, however late an earlier one is answered", async () => {
    const answers: ((text: string) => void)[] = [];
    const fetch = async () =>
      await new Promise<Response>((done) => answers.push((text) => done(new Response(text))));
    const { last } = await renderHook(useWaiting, {
      ...{ api: "/chat", initialState: { waiting: [] }, fetch, intervalMs: late },
    });
    const [early, later] = [last().refresh(), last().refresh()];
    answers[1]!(JSON.stringify({ waiting: [question] }));
    await later;
    answers[0]!(JSON.stringify({ waiting: [] }));
    expect(await early).toBeUndefined();
    await expect.poll(() => last().blocking).toEqual([question]);
  });
});
