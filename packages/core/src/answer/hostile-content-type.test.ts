import { describe, expect, test } from "vitest";
import { callHostile, watchUnhandledRejections } from "../../test/hostile-server.ts";
import { startMcpServer } from "../../test/mcp-server.ts";
import { startStep } from "../../test/step.ts";

watchUnhandledRejections();

const json = (id: string) => JSON.stringify({ jsonrpc: "2.0", id, result: { n: 1 } });
const events = (id: string) => `data: ${json(id)}\n\n`;
const html = () => "<!doctype html><title>Sign in</title>";

/** A content type, the status and body under it, and what the client sees of the call. */
const answers: [
  type: string | undefined,
  status: number,
  body: (id: string) => string,
  seen: string,
][] = [
  ["application/json", 200, json, "result"],
  ["application/json; charset=utf-8", 200, json, "result"],
  ["APPLICATION/JSON;CHARSET=UTF-8", 200, json, "result"],
  [' application/json ; x="a;b"', 200, json, "result"],
  ["application/json; charset=utf-16", 200, json, "result"],
  ["text/event-stream", 200, events, "result"],
  ["text/event-stream; charset=utf-8", 200, events, "result"],
  ["Text/Event-Stream;charset=UTF-8", 200, events, "result"],
  // The right type on the wrong body.
  ["application/json", 200, events, "OUTCOME_UNKNOWN"],
  ["text/event-stream", 200, json, "OUTCOME_UNKNOWN"],
  ["application/json", 200, html, "OUTCOME_UNKNOWN"],
  ["text/event-stream", 200, html, "OUTCOME_UNKNOWN"],
  ["application/json", 201, json, "result"],
  ["application/json", 202, json, "result"],
  ["application/json", 206, json, "result"],
  // None.
  [undefined, 200, json, "result"],
  [undefined, 200, events, "OUTCOME_UNKNOWN"],
  [undefined, 200, html, "OUTCOME_UNKNOWN"],
  [undefined, 200, () => "", "OUTCOME_UNKNOWN"],
  // Others are the client's to refuse; every one that we know does.
  ["text/html", 200, html, "unanswered"],
  ["text/plain", 200, json, "unanswered"],
  ["application/json-seq", 200, json, "unanswered"],
  ["application/problem+json", 200, json, "unanswered"],
  ["application/octet-stream", 200, json, "unanswered"],
  ["application/json, text/event-stream", 200, json, "unanswered"],
  ["text/event-streaming", 200, events, "unanswered"],
  ["nonsense", 200, json, "unanswered"],
  ["", 200, json, "unanswered"],
  // Refusals.
  ["text/html", 400, html, "refused"],
  ["text/html", 500, html, "refused"],
  ["text/event-stream", 400, events, "refused"],
  [undefined, 418, json, "refused"],
];

describe("an answer with content type", () => {
  test.each(answers)("%j and status %i", async (type, status, body, seen) => {
    const outcome = await callHostile((response, id) => {
      response.writeHead(status, type === undefined ? {} : { "content-type": type });
      response.end(body(id));
    });
    expect(outcome.seen).toBe(seen);
  });
});

describe("initialize answered with content type", () => {
  test.each(["text/html", "text/plain", "nonsense", "application/json", "text/event-stream"])(
    "%s and a page is an error under the client's id, and nothing is saved",
    async (type) => {
      const server = await startMcpServer((_, response) => {
        const headers = { "content-type": type, "mcp-session-id": "secret-session" };
        response.writeHead(200, headers).end(html());
      });
      const { client, slot, events: seen } = startStep(server);
      const answer = await client.request("initialize", { capabilities: {} });
      expect(answer).toMatchObject({ id: 0, error: { message: expect.any(String) } });
      expect(JSON.stringify(answer)).not.toContain("secret-session");
      expect([slot.snapshot, seen]).toEqual([undefined, []]);
    },
  );
});
