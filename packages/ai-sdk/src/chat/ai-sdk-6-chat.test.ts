/** The route of a chat, with AI SDK 6 in the place of 7. */
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { startNotebookServer } from "../../../sessions/test/notebook-server.ts";

beforeAll(() => {
  vi.resetModules();
  vi.doMock("ai", () => import("ai-6"));
});
afterAll(() => {
  vi.doUnmock("ai");
  vi.resetModules();
});

const down = () => Promise.reject(new Error("The model is down."));

test("a message is saved, answered, and not answered twice", async () => {
  expect((await import("ai")).streamText).toBe((await import("ai-6")).streamText);
  const { linesOf, problemIn, startChat } = await import("../../test/chat.ts");
  const { scriptedModel } = await import("@durable-mcp/testing/ai-sdk");
  const { url } = await startNotebookServer();
  const note = [{ tool: "notes__add_note", input: { text: "milk" } }];
  const released = Promise.withResolvers<string>();
  const model = scriptedModel(note, () => released.promise, "Hello again.");
  const chat = startChat({ url, model });
  const answer = await chat.say("Note milk.");
  const saved = ["user: Note milk.", "assistant: [notes__add_note output-available]"];
  await expect.poll(async () => linesOf(await chat.state())).toEqual(saved);
  released.resolve("Noted.");
  expect(await answer.text()).toContain("Noted.");
  expect(linesOf(await chat.state())).toEqual([saved[0], `${saved[1]} Noted.`]);
  expect(await problemIn(await chat.say("Note milk."))).toEqual([409, "answered"]);
  await (await chat.say("Hi")).text();
  expect(linesOf(await chat.state()).slice(2)).toEqual(["user: Hi", "assistant: Hello again."]);
  expect(chat.errors).toEqual([]);
});

test("an error fails the answer, and one of a call does not", async () => {
  const { linesOf, startChat } = await import("../../test/chat.ts");
  const { scriptedModel } = await import("@durable-mcp/testing/ai-sdk");
  const { url } = await startNotebookServer();
  const tools = { broken: { inputSchema: (await import("zod")).object({}), execute: down } };
  const model = scriptedModel([{ tool: "broken" }], "It is broken.", down, "Here I am.");
  const chat = startChat({ url, model, settings: { tools, maxRetries: 0 } });
  await (await chat.say("Try")).text();
  expect(await chat.state()).toMatchObject({ answering: "no" });
  expect(linesOf(await chat.state())[1]).toMatch(/\[broken output-error.*\] It is broken\./);
  await (await chat.say("Again")).text();
  expect(await chat.state()).toMatchObject({ answering: "failed" });
  await (await chat.post({})).text();
  expect(linesOf(await chat.state()).at(-1)).toBe("assistant: Here I am.");
});
