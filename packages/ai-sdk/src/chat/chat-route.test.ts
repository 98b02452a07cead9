import { createMemoryStore } from "@durable-mcp/core";
import { scriptedModel } from "@durable-mcp/testing/ai-sdk";
import type { UIMessage } from "ai";
import { describe, expect, test } from "vitest";
import { linesOf, problemIn, said, startChat } from "../../test/chat.ts";
import { add } from "../../test/notebook-sessions.ts";
import { startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { alice } from "../../test/step.ts";

/** A turn that lasts until the test lets it end. */
function held(text: string) {
  const begun = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const turn = async () => {
    begun.resolve();
    await released.promise;
    return text;
  };
  return { turn, begun: begun.promise, release: released.resolve };
}

describe("a message", () => {
  test("is saved before the model is asked, and its answer after each step", async () => {
    const { url } = await startNotebookServer();
    const last = held("Noted.");
    const model = scriptedModel([add("milk")], last.turn);
    const chat = startChat({ url, model });
    const response = await chat.say("Note milk.");
    expect(response.headers.get("content-type")).toContain("text/event-stream");
    await last.begun;
    await expect
      .poll(async () => linesOf(await chat.state()))
      .toEqual(["user: Note milk.", "assistant: [notes__add_note output-available]"]);
    expect((await chat.state()).answering).toBe("yes");
    last.release();
    expect(await response.text()).toContain("Noted.");
    expect(await chat.state()).toMatchObject({ answering: "no", waiting: [] });
    expect(linesOf(await chat.state())[1]).toMatch(/output-available\] Noted\.$/);
    expect(chat.errors).toEqual([]);
  });

  test("that comes again joins its answer, and later finds it there", async () => {
    const turn = held("Hello, Alice.");
    const model = scriptedModel(turn.turn);
    const chat = startChat({ model });
    const [first, second] = [await chat.say("Hi"), await chat.say("Hi")];
    turn.release();
    expect([await first.text(), await second.text()]).toEqual([
      expect.stringContaining("Alice."),
      expect.stringContaining("Hello, "),
    ]);
    expect(await problemIn(await chat.say("Hi"))).toEqual([409, "answered"]);
    expect(linesOf(await chat.state())).toEqual(["user: Hi", "assistant: Hello, Alice."]);
    expect(model.doStreamCalls).toHaveLength(1);
  });

  test("waits for its turn while another process answers", async () => {
    const store = createMemoryStore();
    const turn = held("Hello.");
    const one = startChat({ model: scriptedModel(turn.turn), store });
    const other = startChat({ model: scriptedModel(), store });
    const answer = await one.say("Hi");
    expect(await problemIn(await other.say("Hi"))).toEqual([409, "answering"]);
    expect(await problemIn(await other.say("More"))).toEqual([409, "answering"]);
    expect(await problemIn(await other.post({}))).toEqual([409, "answering"]);
    expect(linesOf(await other.state())).toEqual(["user: Hi"]);
    turn.release();
    await answer.text();
    expect(linesOf(await other.state())).toEqual(["user: Hi", "assistant: Hello."]);
  });

  test("of two at once, one is answered and the other refused", async () => {
    const store = createMemoryStore();
    const turns = [held("One."), held("Two.")];
    const chats = turns.map(({ turn }) => startChat({ model: scriptedModel(turn), store }));
    const responses = await Promise.all(chats.map((chat, at) => chat.say(`Message ${at}`)));
    expect(responses.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409]);
    for (const { release } of turns) release();
    await Promise.all(responses.map((response) => response.text()));
    expect((await chats[0]!.state()).messages).toHaveLength(2);
  });

  test("is answered though nobody reads the answer", async () => {
    const chat = startChat({ model: scriptedModel("Hello.") });
    await (await chat.say("Hi")).body!.cancel();
    await expect.poll(async () => linesOf(await chat.state())).toContain("assistant: Hello.");
  });

  test("has no more than texts, but for what the application takes", async () => {
    const file = {
      type: "file" as const,
      mediaType: "image/png",
      url: "data:image/png;base64,AA==",
    };
    const message = { ...said("Look"), parts: [...said("Look").parts, file], metadata: { a: 1 } };
    const plain = startChat({ model: scriptedModel("Hm.") });
    await (await plain.post({ message })).text();
    expect((await plain.state()).messages[0]).toEqual(said("Look"));
    const model = scriptedModel("Hm.");
    const more = startChat({ model, acceptParts: (parts) => parts });
    await (await more.post({ message })).text();
    expect((await more.state()).messages[0]!.parts).toContainEqual(file);
  });
});

describe("the answer", () => {
  test("is resumed from its beginning in the process that makes it", async () => {
    const turn = held("Hello, Alice.");
    const chat = startChat({ model: scriptedModel(turn.turn) });
    expect((await chat.resume()).status).toBe(204);
    await (await chat.say("Hi")).body!.cancel();
    const resumed = await chat.resume();
    turn.release();
    expect(await resumed.text()).toMatch(/"start".*Hello, .*Alice\..*DONE/s);
    await expect.poll(async () => (await chat.resume()).status).toBe(204);
  });

  test("of a model that is down has failed, and is made when the user wants it", async () => {
    const model = scriptedModel(
      () => Promise.reject(new Error("The model is down.")),
      "Here I am.",
    );
    const chat = startChat({ model, settings: { maxRetries: 0, onError: () => undefined } });
    expect(await (await chat.say("Hi")).text()).toContain("broke off");
    expect(await chat.state()).toMatchObject({ answering: "failed", messages: [said("Hi")] });
    expect(chat.errors).toEqual([expect.objectContaining({ message: "The model is down." })]);
    await (await chat.post({})).text();
    expect(linesOf(await chat.state())).toEqual(["user: Hi", "assistant: Here I am."]);
    expect((await chat.state()).answering).toBe("no");
  });

  test("stops when its user wants it to, in whichever process", async () => {
    const server = await startNotebookServer();
    const store = createMemoryStore();
    const model = scriptedModel([{ tool: "notes__wait" }], "Never.");
    const one = startChat({ url: server.url, model, store, aliveMs: 500 });
    const answer = await one.say("Wait");
    await expect.poll(() => server.waits).toEqual(["started"]);
    const other = startChat({ model: scriptedModel(), store });
    expect(await (await other.post({ stop: true })).json()).toEqual({});
    await answer.text();
    expect((await other.state()).answering).toBe("no");
    expect(linesOf(await other.state()).at(-1)).toMatch(
      /notes__wait output-error: The answer of this call/,
    );
    expect(model.doStreamCalls).toHaveLength(1);
  });

  test("says no more when there is nothing to go on with", async () => {
    const chat = startChat({ model: scriptedModel("Hello.") });
    expect(await problemIn(await chat.post({}))).toEqual([409, "answered"]);
    await (await chat.say("Hi")).text();
    expect(await problemIn(await chat.post({}))).toEqual([409, "answered"]);
  });
});

const later = () => Date.now() + 2e6;

/** A process that shows no life any more, as the next one sees it. */
async function startGone(...turns: Parameters<typeof scriptedModel>) {
  const server = await startNotebookServer();
  const store = createMemoryStore();
  const gone = startChat({
    url: server.url,
    store,
    model: scriptedModel(...turns),
    aliveMs: 1e6,
  });
  const model = scriptedModel("I go on.");
  const next = startChat({ url: server.url, store, model, now: later, aliveMs: 1e6 });
  return { server, gone, next, model };
}

describe("a process that is gone", () => {
  test("leaves a message that the next one answers", async () => {
    const turn = held("Too late.");
    const { gone, next } = await startGone(turn.turn);
    const late = await gone.say("Hi");
    await turn.begun;
    expect(await next.state()).toMatchObject({ answering: "interrupted", messages: [said("Hi")] });
    await (await next.post({})).text();
    turn.release();
    await late.text();
    expect(linesOf(await next.state())).toEqual(["user: Hi", "assistant: I go on."]);
    expect((await next.state()).answering).toBe("no");
  });

  test("leaves a message that comes again", async () => {
    const turn = held("Too late.");
    const { gone, next } = await startGone(turn.turn);
    const late = await gone.say("Hi");
    await (await next.say("Hi")).text();
    expect(linesOf(await next.state())).toEqual(["user: Hi", "assistant: I go on."]);
    turn.release();
    await late.text();
  });

  test("leaves a call of which the model reads that it may have been carried out", async () => {
    const { server, gone, next, model } = await startGone([{ tool: "notes__wait" }], "Too late.");
    const late = await gone.say("Wait");
    await expect.poll(() => server.waits).toEqual(["started"]);
    const lost = "assistant: [notes__wait output-error: The answer of this call is l]";
    const { messages } = await next.state();
    expect(linesOf({ messages })).toEqual(["user: Wait", lost]);
    // A page that reads it again sees nothing new.
    expect((await next.state()).messages).toEqual(messages);
    await (await next.post({})).text();
    server.release();
    await late.text();
    const after = await next.state();
    expect(linesOf(after)).toEqual(["user: Wait", `${lost} I go on.`]);
    expect(after.messages.map(({ id }) => id)).toEqual(messages.map(({ id }) => id));
    expect(JSON.stringify(model.doStreamCalls[0]!.prompt)).toContain("Nobody knows whether");
    expect(server.waits.filter((wait) => wait === "started")).toHaveLength(1);
  });

  test("leaves the results of calls that have ended beside one that has not", async () => {
    const calls = [add("milk"), { tool: "notes__fail" }, { tool: "notes__wait" }];
    const { server, gone, next, model } = await startGone(calls, "Too late.");
    const late = await gone.say("Note milk, and wait");
    const lines = async () => linesOf(await next.state())[1];
    const ended = "[notes__add_note output-available] [notes__fail output-available]";
    await expect.poll(lines).toContain(ended);
    expect(await lines()).toContain("[notes__wait output-error: The answer of this call is l]");
    await (await next.post({})).text();
    server.release();
    await late.text();
    expect(await lines()).toMatch(/ I go on\.$/);
    const prompt = JSON.stringify(model.doStreamCalls[0]!.prompt);
    expect(prompt).toContain("1 notes");
    expect(prompt.split("Nobody knows whether")).toHaveLength(2);
  });

  test("leaves what the user has not had an answer to when they say more", async () => {
    const turn = held("Too late.");
    const { gone, next } = await startGone(turn.turn);
    const late = await gone.say("Hi");
    await (await next.say("Are you there?")).text();
    turn.release();
    await late.text();
    const all = ["user: Hi", "user: Are you there?", "assistant: I go on."];
    expect(linesOf(await next.state())).toEqual(all);
  });
});

describe("whose chat it is", () => {
  test("is told by the sign-in alone", async () => {
    const chat = startChat({ model: scriptedModel("For Alice.", "For Bob.") });
    await (await chat.say("Alice here")).text();
    const bob = { user: "bob" };
    expect(await chat.state(bob)).toMatchObject({ messages: [], answering: "no" });
    await (await chat.say("Bob here", "Alice here", bob)).text();
    expect(linesOf(await chat.state(bob))).toEqual(["user: Bob here", "assistant: For Bob."]);
    expect(linesOf(await chat.state())).toEqual(["user: Alice here", "assistant: For Alice."]);
    await chat.route.DELETE(chat.request(bob, { method: "DELETE" }));
    expect((await chat.state(bob)).messages).toEqual([]);
    expect((await chat.state()).messages).toHaveLength(2);
  });

  test.each<[string, object, [number, string]]>([
    ["nobody", { user: "mallory" }, [401, "signed-out"]],
    ["an id that is too long", { chat: "x".repeat(201) }, [400, "invalid"]],
    ["an id that cannot be read", { chat: "%E0%A4%A" }, [400, "invalid"]],
  ])("is refused: %s", async (_, as, problem) => {
    const chat = startChat({ model: scriptedModel() });
    expect(await problemIn(await chat.say("Hi", "Hi", as))).toEqual(problem);
    expect(await problemIn(await chat.route.GET(chat.request(as)))).toEqual(problem);
  });

  test.each([
    ["no message", { message: 1 }],
    ["a message of the assistant", { message: { ...said("Hi"), role: "assistant" } }],
    ["a message without a text", { message: { ...said("Hi"), parts: [{ type: "file" }] } }],
    ["an answer to nothing", { answer: { call: "" } }],
  ])("refuses %s", async (_, body) => {
    const chat = startChat({ model: scriptedModel() });
    expect(await problemIn(await chat.post(body))).toEqual([400, "invalid"]);
  });

  test("takes no forms of other sites", async () => {
    const chat = startChat({ model: scriptedModel() });
    const body = JSON.stringify({ message: said("Hi") });
    const form = chat.request(
      {},
      { method: "POST", body, headers: { "content-type": "text/plain" } },
    );
    expect(await problemIn(await chat.route.POST(form))).toEqual([415, "json"]);
  });
});

describe("messages", () => {
  test("go with the chat, its user, and its end by an operator", async () => {
    const store = createMemoryStore();
    const chat = startChat({ model: scriptedModel("1", "2", "3", "4"), store });
    const { sessions } = chat.agent;
    const left = async () => (await store.list({ prefix: "chat/", limit: 10 })).records.length;
    const ends = [
      () => sessions.end("chat-1", { principal: alice }),
      () => sessions.endAll({ principal: alice }),
      () => sessions.admin.end("chat-1"),
      () => chat.route.DELETE(chat.request({}, { method: "DELETE" })),
    ];
    for (const [at, end] of ends.entries()) {
      await (await chat.say(`Message ${at}`)).text();
      expect(await left()).toBe(1);
      await end();
      expect(await left()).toBe(0);
    }
  });

  test("are the application's, if it has a table", async () => {
    const table = new Map<string, readonly UIMessage[]>();
    const messages = {
      load: ({ id, principal }: { id: string; principal: object }) =>
        table.get(JSON.stringify([id, principal])) ?? [],
      save: ({ id, principal }: { id: string; principal: object }, all: readonly UIMessage[]) =>
        void table.set(JSON.stringify([id, principal]), structuredClone(all)),
    };
    const store = createMemoryStore();
    const chat = startChat({ model: scriptedModel("Hello."), store, messages });
    await (await chat.say("Hi")).text();
    expect(linesOf({ messages: [...table.values()][0] as UIMessage[] })).toEqual([
      "user: Hi",
      "assistant: Hello.",
    ]);
    expect((await store.list({ prefix: "chat/", limit: 10 })).records).toEqual([]);
    expect((await chat.state({ user: "bob" })).messages).toEqual([]);
    await chat.route.DELETE(chat.request({}, { method: "DELETE" }));
    expect([...table.values()]).toEqual([[]]);
  });

  test("come with what the application adds, and for a page that is made on the server", async () => {
    const chat = startChat({
      model: scriptedModel(),
      more: ({ id, principal }) => ({ title: `${id} of ${principal.type}` }),
    });
    const state = { messages: [], answering: "no", waiting: [], title: "chat-1 of user" };
    expect(await chat.state()).toEqual(state);
    expect(await chat.route.read("chat-1", { principal: alice })).toEqual(state);
  });
});
