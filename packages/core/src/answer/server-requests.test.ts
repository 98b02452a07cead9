import { expect, test } from "vitest";
import type { ServerResponse } from "node:http";
import { eventText, initializeResult, startEvents, startMcpServer } from "../../test/mcp-server.ts";
import { saveSession, startStep } from "../../test/step.ts";
import { answerQuestion, receiveMessage } from "./server-requests.ts";
import type { JsonRpcMessage, JsonRpcResponse } from "../wire/json-rpc.ts";
import type { LiveSession } from "../session/slot-state.ts";

const session = (sessionId: string): LiveSession => ({
  kind: "session",
  sessionId,
  initializeResult,
  clientCapabilities: {},
});
const one = session("s-1");
const two = session("s-2");
const question = (id: string | number) => ({
  jsonrpc: "2.0" as const,
  id,
  method: "elicitation/create",
});
const answer = (id: string | number) => ({ jsonrpc: "2.0" as const, id, result: {} });

function setUp() {
  let count = 0;
  const context = {
    questions: { open: new Map() },
    ids: { lasting: undefined, next: () => `ours.${(count += 1)}` },
  };
  return {
    open: context.questions.open,
    receive: (message: JsonRpcMessage, from: LiveSession) => receiveMessage(context, message, from),
    answer: (message: JsonRpcResponse, live: LiveSession) => answerQuestion(context, message, live),
  };
}

test("keeps the server's id, and gives the answer to the session that asked", () => {
  const requests = setUp();
  expect(requests.receive(question(0), one)).toEqual(question(0));
  expect(requests.answer(answer(0), { ...one })).toEqual(answer(0));
});

test("keeps an answer back when the session that asked is gone", () => {
  const requests = setUp();
  requests.receive(question(0), one);
  expect(requests.answer(answer(0), two)).toBeUndefined();
});

test("tells the questions of two sessions under one id apart", () => {
  const requests = setUp();
  requests.receive(question(0), one);
  const second = requests.receive(question(0), two);
  expect(second).toEqual(question("ours.1"));
  expect(requests.answer(answer(0), two)).toBeUndefined();
  expect(requests.answer(answer("ours.1"), two)).toEqual(answer(0));
});

const cancelled = (requestId: unknown) => ({
  jsonrpc: "2.0" as const,
  method: "notifications/cancelled",
  params: { requestId },
});

test("forgets what was cancelled or answered, and keeps a thousand questions at most", () => {
  const requests = setUp();
  for (let id = 0; id < 5_000; id += 1) requests.receive(question(id), one);
  expect(requests.open.size).toBe(1_000);
  for (let id = 0; id < 4_990; id += 1) requests.receive(cancelled(id), one);
  for (let id = 4_990; id < 4_998; id += 1) requests.answer(answer(id), one);
  expect([...requests.open.keys()]).toEqual(["4998", "4999"]);
});

test("never gives a late answer to another session, also if its question is forgotten", () => {
  const requests = setUp();
  requests.receive(question(0), one);
  requests.receive(cancelled(0), one);
  expect(requests.answer(answer(0), one)).toEqual(answer(0));
  const next = requests.receive(question(0), two);
  expect(next).toEqual(question("ours.1"));
  expect(requests.answer(answer(0), two)).toBeUndefined();
});

test("names a cancelled question by the id that the client knows", () => {
  const requests = setUp();
  requests.receive(question(0), one);
  requests.receive(question(0), two);
  expect(requests.receive(cancelled(0), one)).toEqual(cancelled(0));
  expect(requests.receive(cancelled(0), two)).toEqual(cancelled("ours.1"));
  expect(requests.receive(cancelled(9), one)).toEqual(cancelled(9));
  // In the second session, an id of the server's could be the one of the first session's question.
  expect(requests.receive(cancelled(9), two)).toEqual(cancelled("ours.2"));
});

// What a user agreed to in a lost session once answered what the next session asked under the same id.
test("never lets consent for a lost session's question answer that of the next", async () => {
  const server = await startMcpServer();
  const { client } = startStep(server, { snapshot: await saveSession(server) });
  const streams: ServerResponse[] = [];
  const answers: unknown[] = [];
  server.use(({ message }, response, next) => {
    if (message?.method === "tools/call" && message.params.name === "ask") {
      streams.push(response);
      startEvents(response);
      return void response.write(eventText(question(0)));
    }
    if (message?.id === 0 && message.method === undefined) answers.push(message);
    return next();
  });
  const first = await client.post({
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name: "ask" },
  });
  const firstReader = first.body!.getReader();
  await firstReader.read();
  server.forgetSessions();
  // The recovery goes through a call that the server refuses on the old session.
  server.use(({ message, headers }, response, next) => {
    const isNew = headers["mcp-session-id"] !== server.sessionIds[0];
    if (message?.method === "tools/call" && isNew) {
      streams.push(response);
      startEvents(response);
      return void response.write(eventText(question(0)));
    }
    if (message?.id === 0 && message.method === undefined) answers.push(message);
    return next();
  });
  const second = await client.post({ jsonrpc: "2.0", id: 2, method: "tools/call", params: {} });
  const secondReader = second.body!.getReader();
  await secondReader.read();
  expect((await client.post({ jsonrpc: "2.0", id: 0, result: { action: "accept" } })).status).toBe(
    202,
  );
  expect(answers).toEqual([]);
  await Promise.all([firstReader.cancel(), secondReader.cancel()]);
});
