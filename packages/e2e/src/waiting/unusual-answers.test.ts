import { createServer, type ServerResponse } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { createMemoryStore, createSessionFetch, createSessionSlot } from "@durable-mcp/core";
import {
  answerWaitingCall,
  createWaitingCalls,
  type WaitingCalls,
  waitingCallOf,
} from "@durable-mcp/core/waiting";
import { afterAll, beforeAll, expect, test } from "vitest";

type Params = Record<string, unknown>;
type Respond = (params: Params, response: ServerResponse) => object | undefined;

interface Message {
  readonly id: unknown;
  readonly params: Params;
}

/** How the server answers next. It sends nothing by itself for `undefined`. */
let respond: Respond;
let received: Message[] = [];

const server = createServer((request, response) => {
  void (async () => {
    const message = (await json(request)) as Message;
    received.push(message);
    const result = respond(message.params, response);
    if (result === undefined) return;
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ jsonrpc: "2.0", id: message.id, result }));
  })();
});
let url: string;
beforeAll(async () => {
  await once(server.listen(0, "127.0.0.1"), "listening");
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
});
afterAll(() => server.close());

/** Asks once, with a question that has no mode, and answers the retry with the result. */
const askThen =
  (retried: Respond): Respond =>
  (params, response) =>
    "inputResponses" in params ? retried(params, response) : question;

const question = {
  resultType: "input_required",
  inputRequests: {
    name: {
      method: "elicitation/create",
      params: {
        message: "Who?",
        requestedSchema: { type: "object", properties: { name: { type: "string" } } },
      },
    },
  },
};
const ada = { name: { action: "accept", content: { name: "Ada" } } } as const;

/** Sends a request as a client does. Gives its result. */
async function send(waiting: WaitingCalls, method: string): Promise<unknown> {
  received = [];
  const fetch = createSessionFetch({ url, slot: createSessionSlot(), waiting });
  const meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const params = { name: "greet", arguments: {}, _meta: meta };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 0, method, params });
  const headers = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": "2026-07-28",
  };
  const response = await fetch(url, { method: "POST", headers, body });
  return ((await response.json()) as { result: unknown }).result;
}

const openCalls = () =>
  createWaitingCalls({
    ...{ url, store: createMemoryStore(), principal: { type: "app" } },
    ...{ sessionId: "chat", connection: "server" },
  });

test("a question without a mode is a form (M30)", async () => {
  respond = askThen(() => ({ resultType: "complete", content: [] }));
  const waiting = openCalls();
  const { id } = waitingCallOf(await send(waiting, "tools/call"))!;
  const noForm = answerWaitingCall(waiting, id, { name: { action: "accept" } });
  await expect(noForm).rejects.toMatchObject({ code: "INPUT_INVALID" });
  expect((await answerWaitingCall(waiting, id, ada)).call.state).toBe("settled");
  expect(received).toHaveLength(2);
});

test("a retry whose answer breaks off is not sent again (M9)", async () => {
  respond = askThen((_, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(": at work\n\n", () => response.destroy());
    return undefined;
  });
  const waiting = openCalls();
  const { id } = waitingCallOf(await send(waiting, "tools/call"))!;
  expect((await answerWaitingCall(waiting, id, ada)).call.state).toBe("outcome-unknown");
  await expect(answerWaitingCall(waiting, id, ada)).rejects.toMatchObject({ code: "NOT_WAITING" });
  expect(received).toHaveLength(2);
});

test.each([{ resultType: "poem", content: [] }, { resultType: "input_required" }, "no object"])(
  "a retry with a result of an unknown kind has an unknown outcome (M38, M41): %j",
  async (result) => {
    respond = askThen(() => result as object);
    const waiting = openCalls();
    const { id } = waitingCallOf(await send(waiting, "tools/call"))!;
    const answered = await answerWaitingCall(waiting, id, ada);
    expect(answered.call.state).toBe("outcome-unknown");
    expect(answered.result).toBeUndefined();
    expect(received).toHaveLength(2);
  },
);

test("questions in answer to another request are left to the client (M39)", async () => {
  respond = () => question;
  const waiting = openCalls();
  expect(await send(waiting, "tools/list")).toEqual(question);
  expect(await waiting.list()).toEqual([]);
});
