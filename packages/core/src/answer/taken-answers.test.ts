import type { ServerResponse } from "node:http";
import { expect, test, vi } from "vitest";
import { eventText, startEvents, startMcpServer } from "../../test/mcp-server.ts";
import { saveSession, startStep } from "../../test/step.ts";
import type { JsonRpcMessage } from "../wire/json-rpc.ts";

const headers = { accept: "application/json, text/event-stream" };
const call = { jsonrpc: "2.0", id: 7, method: "tools/call", params: { name: "buy" } } as const;

/** A client that takes messages, on a server that answers its calls so. */
async function startTaking(answer: (response: ServerResponse, id: string) => void) {
  const server = await startMcpServer();
  const snapshot = await saveSession(server);
  const sockets = new Set<unknown>();
  const closed = vi.fn<() => void>();
  server.use(({ message }, response, next) => {
    if (message?.method !== "tools/call") return next();
    sockets.add(response.socket);
    response.on("close", closed);
    answer(response, message.id);
  });
  const messages: JsonRpcMessage[] = [];
  const { send } = startStep(server, { snapshot });
  const take = (message: JsonRpcMessage) => void messages.push(message);
  const sending = async (message: JsonRpcMessage) => await send(message, { headers, take });
  return { sending, messages, sockets, closed };
}

const result = { content: [] };
const resultOf = (id: string) => eventText({ jsonrpc: "2.0", id, result });

test("what comes before the answer comes first, and the answer under the client's id", async () => {
  const log = { jsonrpc: "2.0", method: "notifications/message", params: { data: "half" } };
  const { sending, messages } = await startTaking((response, id) => {
    startEvents(response);
    response.end(eventText(log) + resultOf(id));
  });
  expect(await sending(call)).toEqual({ jsonrpc: "2.0", id: 7, result });
  expect(messages).toEqual([log]);
});

test("a kept list comes as it is", async () => {
  const { sending } = await startTaking(() => undefined);
  const list = { jsonrpc: "2.0", id: 1, method: "tools/list" } as const;
  const [first, second] = [await sending(list), await sending(list)];
  expect(first).toMatchObject({ id: 1, result: { tools: expect.any(Array) } });
  expect(second).toEqual(first);
});

test("a stream that ends a moment after its answer leaves the connection to the next request", async () => {
  const { sending, sockets } = await startTaking((response, id) => {
    startEvents(response);
    response.write(resultOf(id));
    setTimeout(() => response.end(), 20);
  });
  for (const id of [1, 2, 3]) {
    await sending({ ...call, id });
    await new Promise((resolve) => {
      setTimeout(resolve, 60);
    });
  }
  expect(sockets.size).toBe(1);
});

test("a stream that goes on after its answer is left", async () => {
  const { sending, closed } = await startTaking((response, id) => {
    startEvents(response);
    response.write(resultOf(id));
  });
  expect(await sending(call)).toMatchObject({ result });
  await expect.poll(() => closed.mock.calls.length, { timeout: 3_000 }).toBe(1);
});
