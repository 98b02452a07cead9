import { describe, expect, it, onTestFinished, vi } from "vitest";
import { answered, chunksOf, question, said, startChatServer } from "../test/chat-server.ts";
import { openChat, textsOf, waits } from "../test/open-chat.ts";

const call = { toolCallId: "1", toolName: "delivery__order", dynamic: true } as const;

describe("errors", () => {
  it("says why the agent could not go on, and tries again when it is told to", async () => {
    const chat = await startChatServer({ ...waits, waiting: [] });
    const { last } = await openChat(chat);
    await expect.poll(() => last().error?.message).toBe("answered with 500");
    expect(chat.posts.length).toBe(1);
    chat.onPost = () => {
      chat.state = { messages: [answered("a1", "Ordered")], waiting: [] };
      return chunksOf("a1", "Ordered");
    };
    last().goOn();
    await expect.poll(() => textsOf(last())).toEqual(["Ordered"]);
    expect(last().error).toBeUndefined();
  });

  it("keeps a message that the server did not take, and sends it again with its id", async () => {
    const chat = await startChatServer({ messages: [answered("a1", "Hello")], answering: "no" });
    const { last } = await openChat(chat);
    void last().sendMessage({ text: "More" });
    await expect.poll(() => last().error?.message).toBe("answered with 500");
    expect(last()).toMatchObject({ phase: "reconnecting", isBusy: true });
    expect(textsOf(last())).toEqual(["Hello", "More"]);
    chat.onPost = ({ message }) => {
      chat.state = {
        ...chat.state,
        messages: [...chat.state.messages, message!, answered("a2", "Yes")],
      };
      return chunksOf("a2", "Yes");
    };
    await expect.poll(() => textsOf(last())).toEqual(["Hello", "More", "Yes"]);
    await expect
      .poll(() => last())
      .toMatchObject({ phase: "ready", isBusy: false, status: "ready" });
    expect(last().error).toBeUndefined();
    const [first, second] = chat.posts;
    expect(second).toEqual(first);
  });

  it("sends nothing again to a route that does not say who answers, unless it is told to", async () => {
    const chat = await startChatServer({ messages: [answered("a1", "Hello")] });
    const { last } = await openChat(chat);
    void last().sendMessage({ text: "More" });
    await expect.poll(() => last().phase).toBe("failed");
    expect(last()).toMatchObject({ isBusy: false, error: { message: "answered with 500" } });
    expect(textsOf(last())).toEqual(["Hello", "More"]);
    expect(chat.posts.length).toBe(1);
    last().goOn();
    await expect.poll(() => chat.posts.length).toBe(2);
    expect(chat.posts[1]).toEqual(chat.posts[0]);
  });

  it("tells what a route says of a message that it refuses, and forgets it when it is told to", async () => {
    const chat = await startChatServer({ answering: "no" });
    const { last } = await openChat(chat);
    chat.onPost = () => [413, JSON.stringify({ error: "invalid", message: "Too long." })];
    void last().sendMessage({ text: "More" });
    await expect.poll(() => [last().phase, last().error?.message]).toEqual(["failed", "Too long."]);
    expect(chat.posts.length).toBe(1);
    last().clearError();
    await expect.poll(() => last()).toMatchObject({ phase: "ready", error: undefined });
  });

  it("goes on by itself when the process of an answer is gone", async () => {
    const chat = await startChatServer({ messages: [said("u1", "Hi")], answering: "interrupted" });
    chat.onPost = () => {
      chat.state = { messages: [answered("a1", "Hello")], waiting: [], answering: "no" };
      return chunksOf("a1", "Hello");
    };
    const { last, results } = await openChat(chat);
    await expect.poll(() => textsOf(last())).toEqual(["Hello"]);
    expect(last()).toMatchObject({ phase: "ready", error: undefined });
    expect(results.filter(({ error }) => error !== undefined)).toEqual([]);
    expect(chat.posts).toEqual([{}]);
  });

  it("sends a message after another page's answer, and that it had to wait is no error", async () => {
    const chat = await startChatServer({ answering: "yes" });
    const { last, results } = await openChat(chat);
    chat.onPost = () => 409;
    void last().sendMessage({ text: "Hi" });
    await expect.poll(() => [last().phase, chat.posts.length]).toEqual(["following", 1]);
    chat.onPost = ({ message }) => {
      chat.state = { ...chat.state, messages: [message!, answered("a1", "Hello")] };
      return chunksOf("a1", "Hello");
    };
    chat.state = { ...chat.state, answering: "no" };
    await expect.poll(() => textsOf(last())).toEqual(["Hi", "Hello"]);
    await expect.poll(() => last().phase).toBe("ready");
    expect(results.filter(({ error }) => error !== undefined)).toEqual([]);
  });

  it("says that it is gone if that does not help, and goes on when it is told to", async () => {
    const chat = await startChatServer({ messages: [said("u1", "Hi")], answering: "interrupted" });
    const { last } = await openChat(chat);
    await expect.poll(() => last().error?.message).toBe("answered with 500");
    expect(last().phase).toBe("reconnecting");
    void last().stop();
    await expect.poll(() => last()).toMatchObject({ phase: "failed", isBusy: false });
    chat.onPost = () => {
      chat.state = { messages: [answered("a1", "Hello")], waiting: [] };
      return chunksOf("a1", "Hello");
    };
    last().goOn();
    await expect.poll(() => [textsOf(last()), last().error]).toEqual([["Hello"], undefined]);
    expect(chat.posts).toEqual([{}, {}]);
  });

  it("leaves the stream of a process that is gone", async () => {
    const chat = await startChatServer();
    const { last } = await openChat(chat);
    chat.onPost = () => {
      chat.state = { messages: [said("u1", "Hi")], waiting: [], answering: "yes" };
      return "stays open";
    };
    void last().sendMessage({ text: "Hi" });
    await expect.poll(() => last().isBusy && chat.posts.length === 1).toBe(true);
    await expect.poll(() => chat.looks).toBeGreaterThan(3);
    expect(last()).toMatchObject({ phase: "answering", error: undefined });
    chat.onPost = () => {
      chat.state = { messages: [answered("a1", "Hello")], waiting: [] };
      return chunksOf("a1", "Hello");
    };
    chat.state = { ...chat.state, answering: "interrupted" };
    await expect.poll(() => [textsOf(last()), last().error]).toEqual([["Hello"], undefined]);
  });

  it("follows an answer whose stream broke off, and keeps what it has of it until then", async () => {
    const chat = await startChatServer({ answering: "no" });
    const { last, results } = await openChat(chat);
    chat.onPost = ({ message }) => {
      chat.state = { messages: [message!], waiting: [], answering: "yes" };
      return [...chunksOf("a1", "Hel").slice(0, 3), "breaks off"];
    };
    void last().sendMessage({ text: "Hi" });
    await expect.poll(() => last().phase).toBe("following");
    await expect.poll(() => chat.looks).toBeGreaterThan(3);
    expect(textsOf(last())).toEqual(["Hi", "Hel"]);
    const messages = [...chat.state.messages, answered("a1", "Hello")];
    chat.state = { messages, waiting: [], answering: "no" };
    await expect.poll(() => textsOf(last())).toEqual(["Hi", "Hello"]);
    expect(last()).toMatchObject({ phase: "ready", isBusy: false });
    expect(results.filter(({ error }) => error !== undefined)).toEqual([]);
    expect(chat.posts.length).toBe(1);
  });

  it("tells an error that came in the stream", async () => {
    const chat = await startChatServer({ answering: "no" });
    const { last } = await openChat(chat);
    chat.onPost = ({ message }) => {
      chat.state = { messages: [message!], waiting: [], answering: "failed" };
      return [{ type: "start" }, { type: "error", errorText: "The model is down." }];
    };
    void last().sendMessage({ text: "Hi" });
    await expect.poll(() => last().error?.message).toBe("The model is down.");
    expect(last()).toMatchObject({ phase: "failed", isBusy: false });
  });

  it("has nothing more to do after a whole answer, also if the next reads are lost", async () => {
    const chat = await startChatServer({ answering: "no" });
    const { last, results } = await openChat(chat);
    chat.onPost = () => {
      chat.status = 502;
      return chunksOf("a1", "Hello");
    };
    void last().sendMessage({ text: "Hi" });
    await expect.poll(() => chat.looks).toBeGreaterThan(2);
    const done = { phase: "ready", isBusy: false, error: undefined };
    expect(last()).toMatchObject(done);
    expect(textsOf(last())).toEqual(["Hi", "Hello"]);
    const { length } = results;
    chat.state = { ...chat.state, messages: [said("u1", "Hi"), answered("a1", "Hello")] };
    chat.status = 200;
    const { looks } = chat;
    await expect.poll(() => chat.looks).toBeGreaterThan(looks);
    await expect.poll(() => last().state?.messages).toHaveLength(2);
    for (const result of results.slice(length)) expect(result).toMatchObject(done);
  });

  it("still works after a whole answer in which a call waits, until it knows what for", async () => {
    const chat = await startChatServer({ answering: "no" });
    const { last } = await openChat(chat);
    const output = { content: [], _meta: { "durable-mcp/waiting": question } };
    chat.onPost = () => {
      chat.status = 502;
      return [
        { type: "start", messageId: "a1" },
        { type: "tool-input-available", ...call, input: {} },
        { type: "tool-output-available", ...call, output },
        { type: "finish" },
      ];
    };
    void last().sendMessage({ text: "Order tea" });
    await expect.poll(() => chat.looks).toBeGreaterThan(2);
    await expect.poll(() => last()).toMatchObject({ phase: "reconnecting", isBusy: true });
    chat.state = { ...chat.state, ...waits };
    chat.status = 200;
    await expect.poll(() => last().blocking).toEqual([question]);
  });

  it("does not take half an answer for a whole one, which a proxy has ended", async () => {
    const chat = await startChatServer({ answering: "no" });
    const { last } = await openChat(chat);
    chat.onPost = () => {
      chat.status = 502;
      return chunksOf("a1", "Hel").slice(0, 3);
    };
    void last().sendMessage({ text: "Hi" });
    await expect.poll(() => chat.looks).toBeGreaterThan(2);
    await expect.poll(() => last()).toMatchObject({ phase: "reconnecting", isBusy: true });
  });

  it("gives an answer up that gets no response, and says what to do", async () => {
    const timeout = AbortSignal.timeout.bind(AbortSignal);
    const faster = vi.spyOn(AbortSignal, "timeout").mockImplementation((ms) => timeout(ms / 1_000));
    onTestFinished(() => faster.mockRestore());
    const chat = await startChatServer(waits);
    chat.onPost = () => "says nothing";
    const { last } = await openChat(chat);
    const again = { message: "The server does not answer. Press again." };
    expect(await last().answer({}, question)).toEqual(again);
    expect(await last().withdraw(question)).toEqual(again);
  });

  it("does not connect again to a route that refuses the page", async () => {
    const chat = await startChatServer();
    const { last } = await openChat(chat);
    chat.status = 401;
    await last().refresh();
    const refused = { message: "The server refused it." };
    await expect.poll(() => last()).toMatchObject({ phase: "failed", error: refused });
  });

  it("looks again, and sends nothing, when the page is not up to date", async () => {
    const chat = await startChatServer();
    const { last } = await openChat(chat);
    chat.status = 503;
    await last().refresh();
    await expect.poll(() => last().error?.message).toBe("The server does not answer.");
    expect(last().phase).toBe("reconnecting");
    chat.status = 200;
    last().goOn();
    await expect.poll(() => last().error).toBeUndefined();
    expect(chat.posts).toEqual([]);
  });
});
