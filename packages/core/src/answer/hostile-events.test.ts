import { describe, expect, test } from "vitest";
import { callHostile, watchUnhandledRejections } from "../../test/hostile-server.ts";
import { startEvents } from "../../test/mcp-server.ts";

watchUnhandledRejections();

const result = (id: string) => JSON.stringify({ jsonrpc: "2.0", id, result: { n: 1 } });
const deep = (levels: number) => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;
const note = JSON.stringify({ jsonrpc: "2.0", method: "notifications/message", params: {} });

/** What the server sends as `text/event-stream`, and what the client sees of it. */
const streams: [name: string, text: (id: string) => string, seen: string][] = [
  // Line ends.
  ["LF", (id) => `data: ${result(id)}\n\n`, "result"],
  ["CRLF", (id) => `data: ${result(id)}\r\n\r\n`, "result"],
  ["CR", (id) => `data: ${result(id)}\r\r`, "result"],
  [
    "CR between the lines of a message",
    (id) => `data: {"jsonrpc":"2.0",\rdata: "id":"${id}",\rdata: "result":{}}\r\r`,
    "result",
  ],
  ["a batch", (id) => `id: 1\ndata: [${note},${result(id)}]\n\n`, "result"],
  // The end.
  ["no blank line at the end", (id) => `data: ${result(id)}\n`, "result"],
  ["half a message at the end", (id) => `data: ${result(id).slice(0, -2)}`, "OUTCOME_UNKNOWN"],
  ["nothing", () => "", "OUTCOME_UNKNOWN"],
  ["a message of another and no more", () => `data: ${note}\n\n`, "OUTCOME_UNKNOWN"],
  // Fields.
  ["a space before data", (id) => ` data: ${result(id)}\n\n`, "OUTCOME_UNKNOWN"],
  ["an event of another type", (id) => `event: other\ndata: ${result(id)}\n\n`, "OUTCOME_UNKNOWN"],
  [
    "an event field that is too long",
    (id) => `event: ${"x".repeat(5_000)}\ndata: ${result(id)}\n\n`,
    "OUTCOME_UNKNOWN",
  ],
  [
    "two messages in one event",
    (id) => `data: ${note}\ndata: ${result(id)}\n\n`,
    "OUTCOME_UNKNOWN",
  ],
  ["NUL before data", (id) => `\u0000data: ${result(id)}\n\n`, "OUTCOME_UNKNOWN"],
  ["NUL after a message", (id) => `data: ${result(id)}\u0000\n\n`, "OUTCOME_UNKNOWN"],
  ["a byte order mark in the data", (id) => `data: \uFEFF${result(id)}\n\n`, "result"],
  ["HTML", () => "<!doctype html>\n\n<title>Sign in</title>", "OUTCOME_UNKNOWN"],
  // Answers.
  ["its answer twice", (id) => `data: ${result(id)}\n\n`.repeat(2), "result"],
  [
    "its answer, and half of it again",
    (id) => `data: ${result(id)}\n\ndata: ${result(id).slice(0, 9)}`,
    "result",
  ],
  [
    "an answer under the client's id, which nobody can know",
    (id) => `data: ${result("0").replace('"0"', "0")}\n\ndata: ${result(id)}\n\n`,
    "result",
  ],
  [
    "a very deep message",
    (id) => `data: {"result":${deep(50_000)},"id":"${id}","jsonrpc":"2.0","x":${deep(50_000)}}\n\n`,
    "OUTCOME_UNKNOWN",
  ],
  [
    "a very deep notification",
    (id) =>
      `data: {"jsonrpc":"2.0","method":"x","params":${deep(50_000)}}\n\ndata: ${result(id)}\n\n`,
    "result",
  ],
  ["ten thousand comments", (id) => `${": x\n\n".repeat(10_000)}data: ${result(id)}\n\n`, "result"],
  [
    "a message of 5 MB",
    (id) => `data: {"jsonrpc":"2.0","id":"${id}","result":{"t":"${"x".repeat(5_000_000)}"}}\n\n`,
    "result",
  ],
  ["a comment of 5 MB", (id) => `: ${"x".repeat(5_000_000)}\n\ndata: ${result(id)}\n\n`, "result"],
];

describe("an answer as events with", () => {
  test.each(streams)("%s", async (_, text, seen) => {
    const outcome = await callHostile((response, id) => {
      startEvents(response);
      response.end(text(id));
    });
    expect(outcome.seen).toBe(seen);
  });

  test.each(streams)("%s, byte by byte", async (_, text, seen) => {
    const outcome = await callHostile((response, id) => {
      startEvents(response);
      const bytes = Buffer.from(text(id));
      const step = bytes.length > 1_000 ? 65_521 : 1;
      for (let start = 0; start < bytes.length; start += step) {
        response.write(bytes.subarray(start, start + step));
      }
      response.end();
    });
    expect(outcome.seen).toBe(seen);
  });
});
