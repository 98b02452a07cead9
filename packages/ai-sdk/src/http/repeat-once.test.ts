import type { ServerResponse } from "node:http";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type ReceivedRequest, sendText } from "../../test/http-server.ts";
import { startNotebookServer } from "../../test/notebook-server.ts";
import { callForText, startApplication } from "../../test/step.ts";
import { defineMcpClientConnection } from "../connection/define-connection.ts";
import { repeatOnce } from "./repeat-once.ts";

type Answer = (request: ReceivedRequest, response: ServerResponse) => void;

const busy =
  (status: number, retryAfter?: string): Answer =>
  (_, response) => {
    if (retryAfter !== undefined) response.setHeader("retry-after", retryAfter);
    sendText(response, status, "Not now.");
  };
const reset: Answer = ({ raw }) => void raw.socket.resetAndDestroy();

beforeEach(() => {
  vi.spyOn(Math, "random").mockReturnValue(0);
});
afterEach(() => {
  vi.restoreAllMocks();
});

/** An application whose server does that `times` times, when it gets a request of this method. */
async function start(method: string, answer: Answer, { times = 1, isStateful = true } = {}) {
  const server = await startNotebookServer({ isSessionless: !isStateful });
  let left = times;
  server.intercept((request, response) => {
    if (request.message?.method !== method || left === 0) return "next";
    left -= 1;
    answer(request, response);
    return undefined;
  });
  const notes = defineMcpClientConnection({
    url: server.url,
    description: "Notes.",
    session: isStateful ? "stateful" : "stateless",
  });
  const { events, step } = startApplication({ notes });
  const sent = () => server.log.filter((line) => line === `POST ${method}`).length;
  return { server, events, step, sent };
}

describe.each(["initialize", "tools/list"])("the first %s is sent once more after", (method) => {
  test.each<[string, Answer]>([
    ["503", busy(503)],
    ["429", busy(429)],
    ["503 with a Retry-After that is over", busy(503, "Sun, 22 Nov 2020 10:00:00 GMT")],
    ["a reset connection", reset],
  ])("%s", async (_, answer) => {
    const { server, events, step, sent } = await start(method, answer);
    await step({}, async (registry) => {
      expect(await callForText(await registry.tools(), "notes__add_note", { text: "a" })).toBe(
        "1 notes",
      );
    });
    expect(sent()).toBe(2);
    expect(events.map(({ type }) => type)).toEqual(["started"]);
    expect(server.liveSessions()).toBe(1);
  });
});

test.each<[string, Answer]>([
  ["500", busy(500)],
  ["502", busy(502)],
  ["429 with a long Retry-After", busy(429, "60")],
])("nothing is sent again after %s", async (_, answer) => {
  const { events, step, sent } = await start("tools/list", answer);
  await step({}, (registry) => registry.tools());
  expect(sent()).toBe(1);
  expect(events.map(({ type }) => type)).toContain("unavailable");
});

test("a server that stays busy is asked twice, not for ever", async () => {
  const { step, sent } = await start("tools/list", busy(503), { times: Infinity });
  await step({}, async (registry) => {
    await registry.tools();
    expect(sent()).toBe(2);
    await registry.tools();
    expect(sent()).toBe(3);
  });
});

test("a tool call is not sent again, whatever is in its arguments", async () => {
  const { step, sent } = await start("tools/call", busy(503));
  await step({}, async (registry) => {
    const input = { text: "a", method: "initialize" };
    const call = registry.call("notes", "add_note", input);
    await expect(call).rejects.toMatchObject({ code: "CONNECTION_UNAVAILABLE" });
  });
  expect(sent()).toBe(1);
});

test("a stateless connection sends nothing again", async () => {
  const { step, sent } = await start("tools/list", busy(503), { isStateful: false });
  await step({}, (registry) => registry.tools());
  expect(sent()).toBe(1);
});

test("the pause heeds Retry-After and ends with the step", async () => {
  const step = new AbortController();
  let sent = 0;
  const fetch = repeatOnce(() => {
    sent += 1;
    return Promise.resolve(new Response("", { status: 429, headers: { "retry-after": "2" } }));
  });
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize" });
  const asking = fetch("http://a.test/mcp", { method: "POST", body, signal: step.signal });
  setTimeout(() => step.abort(new Error("over")), 300);
  await expect(asking).rejects.toThrow("over");
  expect(sent).toBe(1);
});
