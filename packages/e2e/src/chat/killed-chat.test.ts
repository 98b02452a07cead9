/** `kill -9` of the process that answers, in each phase, and another process: no message is lost, no call made twice. */
import type { ChatState } from "@durable-mcp/ai-sdk";
import { createClock, runStep, type StopPlan } from "@durable-mcp/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { converse } from "../../../ai-sdk/test/chat-page.ts";
import { linesOf, said } from "../../../ai-sdk/test/chat.ts";
import { startStorePlace } from "../durable/store-place.ts";
import { startModule } from "../processes/start-module.ts";
import { type NotebookServer, startNotebookServer } from "../servers/notebook.ts";
import serve, { type ChatRequest, type ChatResponse } from "./chat-step-program.ts";

let server: NotebookServer;
beforeAll(async () => void (server = await startNotebookServer()));
afterAll(async () => await server.stop());

const program = new URL("chat-step-program.ts", import.meta.url);
const lost = "[notes__add_note output-error: The answer of this call is l]";
const made = "[notes__add_note output-available]";

interface Case {
  readonly phase: string;
  readonly stop: StopPlan;
  /** What the next process finds. */
  readonly found: [answering: string, ...lines: string[]];
  /** How often the call is carried out in the end, and what the chat has of it. */
  readonly made: [number, string];
}

test.each<Case>([
  {
    phase: "before the message is saved",
    stop: { at: "before-save", nth: 1 },
    found: ["no"],
    made: [1, made],
  },
  {
    phase: "saved",
    stop: { at: "after-save", nth: 1 },
    found: ["interrupted", "user: Note milk."],
    made: [1, made],
  },
  {
    phase: "before the call is noted",
    stop: { at: "before-send", on: "initialize" },
    found: ["interrupted", "user: Note milk."],
    made: [1, made],
  },
  {
    phase: "in a tool, before it hears of it",
    stop: { at: "before-send" },
    found: ["interrupted", "user: Note milk.", `assistant: ${lost}`],
    made: [0, lost],
  },
  {
    phase: "in a tool",
    stop: { at: "after-send" },
    found: ["interrupted", "user: Note milk.", `assistant: ${lost}`],
    made: [1, lost],
  },
  {
    phase: "the tool has answered",
    stop: { at: "after-answer" },
    found: ["interrupted", "user: Note milk.", `assistant: ${lost}`],
    made: [1, lost],
  },
  {
    phase: "a step is saved",
    stop: { at: "after-save", nth: 5 },
    found: ["interrupted", "user: Note milk.", `assistant: ${made}`],
    made: [1, made],
  },
  {
    phase: "answered, but not saved",
    stop: { at: "before-save", nth: 6 },
    found: ["interrupted", "user: Note milk.", `assistant: ${made}`],
    made: [1, made],
  },
  {
    phase: "answered and saved",
    stop: { at: "before-delete" },
    found: ["no", "user: Note milk.", `assistant: ${made} Noted, or not.`],
    made: [1, made],
  },
])("$phase", async ({ phase, stop, found, made: [times, call] }) => {
  const { remove, ...place } = await startStorePlace("sqlite");
  const clock = createClock();
  const { stats, url } = server;
  const before = (await stats()).notesAdded[phase] ?? 0;
  try {
    const message = said("Note milk.");
    const note = phase;
    const first = { place, url, note, body: { message } };
    const killed = await startModule<ChatRequest, ChatResponse>(program, { input: first, clock });
    await killed.kill(stop);

    clock.advance({ ms: 11_000 });
    const request = async (body?: object) => {
      const input = { place, url, note, ...(body && { body }) };
      const { output } = await runStep<ChatRequest, ChatResponse>(serve, { input, clock });
      return new Response(output.text, { status: output.status });
    };
    const chat = {
      state: async () => (await (await request()).json()) as ChatState,
      post: request,
    };
    const { answering, ...state } = await chat.state();
    expect([answering, ...linesOf(state)]).toEqual(found);
    const end = await converse(chat, message, () => {
      throw new Error("Nobody answers.");
    });
    expect(linesOf(end)).toEqual(["user: Note milk.", `assistant: ${call} Noted, or not.`]);
    expect(((await stats()).notesAdded[phase] ?? 0) - before).toBe(times);
    expect((await request({ message })).status).toBe(409);
  } finally {
    await remove();
  }
});
