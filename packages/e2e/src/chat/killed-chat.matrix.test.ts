/** `kill -9` of the process that answers, in each phase, and another process: no message is lost, no call made twice. */
import type { ChatState } from "@durable-mcp/ai-sdk";
import { createClock, runStep, type Step, type StopPlan } from "@durable-mcp/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { converse } from "../../../ai-sdk/test/chat-page.ts";
import { linesOf, said } from "../../../ai-sdk/test/chat.ts";
import { startStorePlace } from "../durable/store-place.ts";
import { startModule } from "../processes/start-module.ts";
import { type NotebookServer, startNotebookServer } from "../servers/notebook.ts";
import serve, { aliveMs, type ChatRequest, type ChatResponse } from "./chat-step-program.ts";

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
  await withChat(phase, async ({ start, pass, chat, message, carriedOut }) => {
    const killed = await start();
    await killed.kill(stop);
    pass();
    const { answering, ...state } = await chat.state();
    expect([answering, ...linesOf(state)]).toEqual(found);
    const end = await converse(chat, message, () => {
      throw new Error("Nobody answers.");
    });
    expect(linesOf(end)).toEqual(["user: Note milk.", `assistant: ${call} Noted, or not.`]);
    expect(await carriedOut()).toBe(times);
    expect((await chat.post({ message })).status).toBe(409);
  });
});

test("a process that was asleep changes nothing of the answer of another one", async () => {
  await withChat("asleep", async ({ start, pass, chat, message, carriedOut }) => {
    const asleep = await start();
    await asleep.freeze({ at: "after-answer" });
    pass();
    const end = await converse(chat, message, () => {
      throw new Error("Nobody answers.");
    });
    asleep.resume();
    await asleep.finish();
    expect(await chat.state()).toEqual(end);
    expect(linesOf(end)).toEqual(["user: Note milk.", `assistant: ${lost} Noted, or not.`]);
    expect(await carriedOut()).toBe(1);
  });
});

interface World {
  /** Starts a process that answers the message. */
  readonly start: () => Promise<Step<ChatResponse>>;
  /** A process that shows no life is gone then. */
  readonly pass: () => void;
  readonly chat: Parameters<typeof converse>[0];
  readonly message: ReturnType<typeof said>;
  /** How often the note was made. */
  readonly carriedOut: () => Promise<number>;
}

/** A chat in a SQLite file. @param note what the model has noted */
async function withChat(note: string, use: (world: World) => Promise<void>): Promise<void> {
  const { remove, ...place } = await startStorePlace("sqlite");
  const clock = createClock();
  const message = said("Note milk.");
  const { url } = server;
  const request = async (body?: object) => {
    const input = { place, url, note, ...(body && { body }) };
    const { output } = await runStep<ChatRequest, ChatResponse>(serve, { input, clock });
    return new Response(output.text, { status: output.status });
  };
  try {
    await use({
      message,
      start: () => startModule(program, { input: { place, url, note, body: { message } }, clock }),
      pass: () => void clock.advance({ ms: aliveMs + 1_000 }),
      chat: { state: async () => (await (await request()).json()) as ChatState, post: request },
      carriedOut: async () => (await server.stats()).notesAdded[note] ?? 0,
    });
  } finally {
    await remove();
  }
}
