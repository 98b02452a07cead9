import { describe, expect, it, onTestFinished } from "vitest";
import {
  answered,
  chunksOf,
  placeholder,
  question,
  said,
  startChatServer,
} from "../test/chat-server.ts";
import { openChat, textsOf, waits } from "../test/open-chat.ts";

describe("what is sent", () => {
  it("sends the user's new message, and shows what the server has in the end", async () => {
    const chat = await startChatServer({ messages: [said("u1", "Hi"), answered("a1", "Hello")] });
    const { last } = await openChat(chat);
    chat.onPost = ({ message }) => {
      chat.state = {
        messages: [...chat.state.messages, message!, answered("a2", "Of the server")],
        waiting: [],
      };
      return chunksOf("a2", "Of the stream");
    };
    void last().sendMessage({ text: "More" });
    await expect.poll(() => textsOf(last())).toEqual(["Hi", "Hello", "More", "Of the server"]);
    expect(chat.posts).toEqual([
      {
        message: { id: expect.any(String), role: "user", parts: [{ type: "text", text: "More" }] },
      },
    ]);
    expect(last()).toMatchObject({ isBusy: false, error: undefined });
  });

  it("sends what the user says of a call that needs approval", async () => {
    const chat = await startChatServer({ messages: [said("u1", "Hi")], answering: "no" });
    const { last } = await openChat(chat);
    chat.onPost = () => {
      chat.state = { ...chat.state, messages: [said("u1", "Hi"), answered("a1", "Done")] };
      return chunksOf("a1", "Done");
    };
    await last().addToolApprovalResponse({ id: "approval 1", approved: false, reason: "No." });
    expect(chat.posts).toEqual([
      { approval: { id: "approval 1", approved: false, reason: "No." } },
    ]);
    await expect.poll(() => textsOf(last())).toEqual(["Hi", "Done"]);
  });

  it("asks for a chat that the page was rendered without", async () => {
    const chat = await startChatServer({ messages: [answered("a1", "Hello")] });
    const { last, results } = await openChat(chat, { initialState: undefined });
    await expect.poll(() => textsOf(last())).toEqual(["Hello"]);
    expect(results[0]).toMatchObject({ state: undefined, blocking: [], working: [] });
  });

  it("calls the application's onFinish", async () => {
    const chat = await startChatServer();
    let finished = 0;
    const { last } = await openChat(chat, { onFinish: () => void (finished += 1) });
    chat.onPost = () => chunksOf("a1", "Hello");
    void last().sendMessage({ text: "Hi" });
    await expect.poll(() => finished).toBe(1);
  });
});

describe("going on", () => {
  it("goes on once when a question was answered in another tab", async () => {
    const chat = await startChatServer(waits);
    const { last } = await openChat(chat);
    await expect.poll(() => last().blocking).toEqual([question]);
    chat.onPost = () => {
      chat.state = { messages: [said("u1", "Order tea"), answered("a1", "Ordered")], waiting: [] };
      return chunksOf("a1", "Ordered");
    };
    expect(chat.posts).toEqual([]);
    chat.state = { ...chat.state, waiting: [] };
    await expect.poll(() => textsOf(last())).toEqual(["Order tea", "Ordered"]);
    expect(chat.posts).toEqual([{}]);
  });

  it("does not go on twice for one reason, though the placeholder stays", async () => {
    const chat = await startChatServer({ ...waits, waiting: [] });
    const { last } = await openChat(chat);
    chat.onPost = () => chunksOf("a2", "Hm");
    await expect.poll(() => chat.posts.length).toBe(1);
    await last().refresh();
    await last().refresh();
    expect(chat.posts.length).toBe(1);
  });

  it("asks how a task is when its time has come, each second at most", async () => {
    const task = { ...question, type: "task", status: "working", statusMessage: "half" } as const;
    const due = { ...task, pollAfter: Date.now() - 1 };
    const chat = await startChatServer({ messages: [placeholder(due)], waiting: [due] });
    const begun = Date.now();
    const { last, redraw } = await openChat(chat);
    chat.onPost = () => {
      chat.state = { messages: [answered("a1", "There")], waiting: [] };
      return chunksOf("a1", "There");
    };
    await expect.poll(() => last().working).toEqual([due]);
    // A page that is drawn meanwhile, because its user types, does not put it off.
    const drawing = setInterval(redraw, 100);
    onTestFinished(() => clearInterval(drawing));
    expect(last().blocking).toEqual([]);
    await expect.poll(() => textsOf(last())).toEqual(["There"]);
    expect(Date.now() - begun).toBeGreaterThan(990);
    expect(Date.now() - begun).toBeLessThan(3_000);
    expect(chat.posts).toEqual([{}]);
  });

  it("is silent if another page has gone on a moment earlier", async () => {
    const chat = await startChatServer(waits);
    const { last, results } = await openChat(chat);
    chat.onPost = () => {
      chat.state = { ...chat.state, answering: "yes" };
      return 409;
    };
    chat.state = { ...chat.state, waiting: [] };
    await expect.poll(() => last().isBusy && chat.posts.length === 1).toBe(true);
    chat.state = { messages: [answered("a1", "Ordered")], waiting: [], answering: "no" };
    await expect.poll(() => textsOf(last())).toEqual(["Ordered"]);
    expect(last().isBusy).toBe(false);
    expect(results.filter(({ error }) => error !== undefined)).toEqual([]);
    expect(chat.posts.length).toBe(1);
  });
});

it("sends answers to questions, and takes calls back", async () => {
  const chat = await startChatServer(waits);
  const { last } = await openChat(chat);
  chat.onPost = () => [422, JSON.stringify({ message: "Which?", field: "delivery.content.time" })];
  const responses = { confirm: { action: "decline" as const } };
  expect(await last().answer(responses, question)).toEqual({
    ...{ message: "Which?", field: "delivery.content.time" },
  });
  chat.onPost = () => [200, "{}"];
  expect(await last().withdraw(question)).toBeUndefined();
  expect(await last().stopAnswer()).toBeUndefined();
  const { id: call, round } = question;
  expect(chat.posts).toEqual([
    { answer: { call, round, responses } },
    { withdraw: { call } },
    { stop: true },
  ]);
});
