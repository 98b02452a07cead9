import { expect, test } from "vitest";
import { McpSessionError } from "@durable-mcp/core";
import type { Chat, Outcome } from "./chat.ts";
import { judgeCall, judgeChat } from "./judge.ts";

const text = "<chat 0>";
const ran = (times: number) => ({ runs: () => times, arrived: () => true });
const judge = (outcome: Outcome, times: number) =>
  judgeCall({ text, tool: "echo", step: 1, outcome }, ran(times));
const failed = (code: "OUTCOME_UNKNOWN" | "CONNECTION_UNAVAILABLE", message = "refused") => ({
  type: "failed" as const,
  error: new McpSessionError(code, message),
});

test("a call is answered, refused before it ran, or of unknown outcome", () => {
  expect(judge({ type: "answered", answer: text }, 1)).toEqual({ verdict: "answered" });
  expect(judge(failed("CONNECTION_UNAVAILABLE"), 0)).toEqual({ verdict: "refused" });
  expect(judge(failed("OUTCOME_UNKNOWN"), 0)).toEqual({ verdict: "unknown" });
  expect(judge(failed("OUTCOME_UNKNOWN"), 1)).toEqual({ verdict: "unknown" });
  expect(judge({ type: "killed" }, 1)).toEqual({ verdict: "unknown" });
});

test.each<[string, Outcome, number]>([
  ["doubled", { type: "answered", answer: text }, 2],
  ["doubled", failed("OUTCOME_UNKNOWN"), 2],
  ["crossed", { type: "answered", answer: "<chat 1>" }, 1],
  ["never ran", { type: "answered", answer: text }, 0],
  ["hung", { type: "hung" }, 0],
  ["silent", { type: "no tool", events: [] }, 0],
  ["raw error", { type: "failed", error: new TypeError("fetch failed") }, 0],
  ["wrong word", failed("CONNECTION_UNAVAILABLE"), 1],
  ["vague", failed("CONNECTION_UNAVAILABLE", "; the cause of the thrown error says why"), 0],
])("everything else is a fault: %s", (word, outcome, times) => {
  expect(judge(outcome, times)).toMatchObject({
    verdict: "fault",
    fault: expect.stringContaining(word) as string,
  });
});

test("a request that never arrived was not taken by the server", () => {
  const outcome = failed("OUTCOME_UNKNOWN", "the server took the request and its answer was lost");
  const call = { text, tool: "echo", step: 1, outcome } as const;
  expect(judgeCall(call, { runs: () => 0, arrived: () => false }).fault).toContain("wrong word");
});

const note = "<chat 3>";
const chat = (parts: Partial<Chat>): Chat => ({
  options: { id: "chat", url: "http://127.0.0.1/mcp" },
  ...{ calls: [], waits: [], faults: [], notes: [note] },
  log: [{ type: "answered", note, isTold: false }],
  step: () => Promise.reject(new Error("not here")),
  ...parts,
});
const event = (type: "lost" | "restored" | "recovered") =>
  ({ type: "event", event: type }) as const;
const answered = { type: "answered", note, isTold: false } as const;

test("the notes of a chat are those that were answered since its session was replaced", () => {
  expect(judgeChat(chat({}))).toEqual([]);
  expect(judgeChat(chat({ notes: [], log: [answered, event("lost")] }))).toEqual([]);
  const restored = [answered, event("lost"), event("restored")];
  expect(judgeChat(chat({ notes: [], log: restored })).join()).toContain("gone without a word");
});

test.each<[string, Partial<Chat>]>([
  ["gone without a word", { notes: [] }],
  ["could not read", { notes: undefined }],
  ["in another session", { notes: [note, "<other 0>"] }],
  ["there twice", { notes: [note, note] }],
  ["was not told", { log: [event("recovered"), answered] }],
  ["was given up", { options: { ...chat({}).options, keepsSession: true }, log: [event("lost")] }],
  ["late", { waits: [{ phase: "call", ms: 1_600, limitMs: 1_000 }] }],
])("what is wrong with a chat: %s", (words, parts) => {
  expect(judgeChat(chat(parts)).join()).toContain(words);
});
