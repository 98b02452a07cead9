import type { ServerResponse } from "node:http";
import { inspect } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { list, startNotes, startSaved } from "../saved-session.ts";
import { callForText, callTool } from "../step.ts";

const rejections: unknown[] = [];
const onRejection = (reason: unknown) => void rejections.push(reason);
beforeEach(() => {
  rejections.length = 0;
  process.on("unhandledRejection", onRejection);
});
afterEach(async () => {
  // Rejections are reported once the microtasks are over.
  await new Promise((resolve) => {
    setTimeout(resolve, 5);
  });
  process.off("unhandledRejection", onRejection);
  if (rejections.length > 0) throw new AggregateError(rejections, "Nobody handled a rejection.");
});

const json = (response: ServerResponse, body: string, type = "application/json") =>
  void response.writeHead(200, { "content-type": type }).end(body);
const events = (response: ServerResponse, text: string) =>
  json(response, text, "text/event-stream");
const result = (id: string) =>
  JSON.stringify({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text: "right" }] } });
const error = (id: string, text: string) =>
  JSON.stringify({ jsonrpc: "2.0", id, error: { code: 1, message: text, data: text } });
const deep = `${'{"a":'.repeat(50_000)}1${"}".repeat(50_000)}`;

/** How the server answers a tool call, and what the tool gives: its text, or this in the error. */
const answers: [
  name: string,
  answer: (response: ServerResponse, id: string, session: string) => void,
  seen: string,
][] = [
  [
    "__proto__ in a result",
    (response, id) =>
      json(response, result(id).replace('"result":{', '"result":{"__proto__":{"polluted":1},')),
    "right",
  ],
  [
    "answers to other calls first",
    (response, id) =>
      events(
        response,
        [0, 1, 2, 3, 4, 5]
          .map(
            (n) =>
              `data: ${result(id).replace(`"${id}"`, String(n)).replace("right", "wrong")}\n\n`,
          )
          .join("") + `data: ${result(id)}\n\n`,
      ),
    "right",
  ],
  [
    "a very deep answer",
    (response, id) =>
      events(response, `data: {"result":${deep},"id":"${id}","jsonrpc":"2.0","x":${deep}}\n\n`),
    "OUTCOME_UNKNOWN",
  ],
  ["a page", (response) => json(response, "<html>", "text/html"), "content type"],
  [
    "an error that repeats the id",
    (response, id, session) => json(response, error(id, `no ${session}`)),
    "[session id]",
  ],
  [
    "a refusal that repeats the id",
    (response, _, session) =>
      void response.writeHead(500, session, { "x-debug": session }).end(session),
    "[session id]",
  ],
  [
    "ten thousand headers",
    (response) =>
      void response.socket?.end(`HTTP/1.1 200 OK\r\n${"x-a: b\r\n".repeat(10_000)}\r\n`),
    "fetch failed",
  ],
];

describe("a server that answers a tool call with", () => {
  test.each(answers)("%s", async (_, answer, seen) => {
    const { server, application, session } = await startSaved();
    const [sessionId] = server.sessionIds;
    let outcome = "";
    const after = await application.step(session, async (registry) => {
      const tools = await registry.tools();
      server.intercept(({ message }, response) =>
        message?.method === "tools/call" ? answer(response, message.id, sessionId!) : "next",
      );
      outcome = await callTool(tools, "notes__list_notes").then(
        ({ content }) => content[0].text as string,
        (reason: unknown) => inspect(reason, { depth: null }),
      );
      // The session goes on.
      server.intercept(() => "next");
      expect(await callForText(tools, "notes__list_notes")).toEqual(expect.any(String));
    });
    expect(outcome).toContain(seen);
    expect(outcome + inspect(application.events)).not.toContain(sessionId);
    expect(after).toEqual(session);
    expect(server.sessionIds).toHaveLength(1);
    expect(Object.prototype).not.toHaveProperty("polluted");
  });
});

test.each(["", "canary b", "canary\t", `canary${"x".repeat(17_000)}`, "canary\u00e9"])(
  "a server that names a session %j makes its connection unavailable, and the next step works",
  async (id) => {
    const { server, application } = await startNotes();
    server.intercept(({ message }, response) => {
      if (message?.method !== "initialize") return "next";
      const { protocolVersion } = message.params;
      const serverInfo = { name: "hostile", version: "1" };
      const body = {
        jsonrpc: "2.0",
        id: message.id,
        result: { protocolVersion, capabilities: { tools: {} }, serverInfo },
      };
      response.writeHead(200, { "content-type": "application/json", "mcp-session-id": id });
      return void response.end(JSON.stringify(body));
    });
    const failed = await application.step({}, async (registry) => {
      expect(await registry.tools()).toEqual({});
    });
    expect(failed).toEqual({});
    expect(application.events).toMatchObject([{ type: "unavailable", connection: "notes" }]);
    expect(inspect(application.events, { depth: null })).not.toContain("canary");
    server.intercept(() => "next");
    await application.step(failed, list);
  },
);
