/** Each operation of the store fails once while a message is answered: the page comes to its answer by itself. */

import { createMemoryStore, McpSessionError } from "@durable-mcp/core";
import { createFaultyStore } from "@durable-mcp/testing";
import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { linesOf, said, startChat } from "../../test/chat.ts";
import { converse, readingModel } from "../../test/chat-page.ts";
import { startNotebookServer } from "../../../sessions/test/notebook-server.ts";
import { add } from "../../test/notebook-sessions.ts";

const aliveMs = 1_000_000;

/** Has a note made, while the operation of this number fails. @returns how many operations there were */
async function play(at: number, moment: "before" | "after") {
  let calls = 0;
  const setUp = (mcp: McpServer) =>
    void mcp.registerTool("add_note", { inputSchema: { text: z.string() } }, () => {
      calls += 1;
      return { content: [{ type: "text", text: "Noted." }] };
    });
  const server = await startNotebookServer({ setUp });
  const faulty = createFaultyStore(createMemoryStore());
  let [count, laterMs] = [0, 0];
  faulty.meet("*", async (operate, { name }) => {
    const isHit = count++ === at;
    const failure = new McpSessionError("STORE_FAILED", `The store failed at ${name}.`);
    if (isHit && moment === "before") throw failure;
    const result = await operate();
    if (isHit) throw failure;
    return result;
  });
  const model = readingModel((role) => (role === "user" ? [add("milk")] : "Noted, or not."));
  const settings = { onError: () => undefined };
  const now = () => Date.now() + laterMs;
  const chat = startChat({ url: server.url, model, store: faulty.store, now, aliveMs, settings });
  // Whoever answers gives no sign of life any more.
  const state = await converse(chat, said("Note milk."), () => (laterMs += 2 * aliveMs));
  const lines = linesOf(state);
  expect(lines.filter((line) => line.startsWith("user"))).toEqual(["user: Note milk."]);
  expect(lines.at(-1)).toMatch(/^assistant: .*Noted, or not\.$/);
  // The model is told of a call that could not be noted, and was not made.
  const isTold = lines.some((line) => line.includes("output-error"));
  expect([calls, isTold]).toEqual(isTold ? [0, true] : [1, false]);
  return { count, isTold };
}

describe.each(["before", "after"] as const)(
  "a store that fails once, %s it has done it",
  (moment) => {
    test("loses no message, and makes no call twice", async () => {
      const { count } = await play(-1, moment);
      const played = [];
      for (let at = 0; at < count; at += 1) played.push(await play(at, moment));
      expect(count).toBeGreaterThan(8);
      expect(played.filter(({ isTold }) => isTold)).toHaveLength(1);
    });
  },
);
