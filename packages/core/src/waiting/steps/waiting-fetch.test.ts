import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  asks,
  askingRequest,
  confirm,
  createAskingServer,
  createGate,
  done,
  type Leg,
  orders,
  passTime,
  resultOf,
  send,
  startProcess,
  url,
  watchStore,
} from "../../../test/asking-server.ts";
import { readMessages } from "../../../test/rpc-client.ts";
import { createMemoryStore, McpSessionError } from "../../index.ts";
import {
  answerWaitingCall,
  type WaitingEvent,
  type WaitingLimits,
  waitingCallOf,
} from "../index.ts";

type OnWaiting = NonNullable<WaitingLimits["onWaiting"]>;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] });
});
afterEach(() => {
  vi.useRealTimers();
});

test("gives the client a result that stands for the call", async () => {
  const { fetch, waiting } = startProcess(createAskingServer(orders), { now: () => 1_000 });
  const { result } = await send(fetch);
  expect(result).toMatchObject({ resultType: "complete", isError: true });
  const call = {
    ...{ type: "question", state: "waiting", connection: "shop", server: "https://shop.example" },
    ...{ method: "tools/call", tool: "order", round: 1, requests: { confirm } },
    ...{ askedAt: 1_000, expiresAt: 604_801_000 },
  };
  expect(waitingCallOf(result)).toEqual({ ...call, id: expect.any(String) });
  expect(await waiting.list()).toEqual([waitingCallOf(result)]);
});

test("stands for a resource and a prompt in their own forms", async () => {
  const { fetch } = startProcess(createAskingServer(() => asks("s")));
  const uri = "shop://orders/1";
  const read = await send(fetch, { method: "resources/read", params: { uri } });
  expect(read.result.contents).toEqual([{ uri, mimeType: "text/plain", text: expect.any(String) }]);
  expect(waitingCallOf(read.result)).toMatchObject({ method: "resources/read", tool: uri });
  const got = await send(fetch, { method: "prompts/get", params: { name: "greet" } });
  expect(got.result.messages).toEqual([
    { role: "user", content: { type: "text", text: expect.any(String) } },
  ]);
  expect(waitingCallOf(got.result)).toMatchObject({ method: "prompts/get", tool: "greet" });
});

describe("the record is there before the client learns of the question", () => {
  test("as long as the store takes", async () => {
    const gate = createGate();
    const store = watchStore(createMemoryStore(), (name) => name === "put" && gate.opened);
    const { fetch } = startProcess(createAskingServer(orders), { store });
    let isTold = false;
    const answer = send(fetch).then((message) => {
      isTold = true;
      return message;
    });
    await vi.waitFor(() => expect(store.operations).toEqual(["put"]));
    await vi.advanceTimersByTimeAsync(5_000);
    expect(isTold).toBe(false);
    gate.open();
    expect(waitingCallOf((await answer).result)).toBeDefined();
  });

  test("or the client is told that it could not be kept", async () => {
    const store = watchStore(createMemoryStore(), (name) => {
      if (name === "put") throw new McpSessionError("STORE_FAILED", "The store is down.");
    });
    const onEvent = vi.fn<(event: WaitingEvent) => void>();
    const { fetch } = startProcess(createAskingServer(orders), { store, onEvent });
    const { error } = await passTime(send(fetch));
    const message = expect.stringMatching(/was sent.* Whether it was carried out is unknown/);
    expect(error).toEqual({ code: -32_603, message, data: { code: "OUTCOME_UNKNOWN" } });
    expect(onEvent.mock.calls).toMatchObject([
      [{ type: "store-failed", operation: "keep", tool: "order", error: { message } }],
    ]);
  });
});

test("a store that has kept the question and fails all the same has kept it", async () => {
  const memory = createMemoryStore();
  const put: typeof memory.put = async (...record) => {
    await memory.put(...record);
    throw new McpSessionError("STORE_FAILED", "No answer came.");
  };
  const { fetch, waiting } = startProcess(createAskingServer(orders), {
    store: { ...memory, put },
  });
  const { result } = await send(fetch);
  expect(await waiting.list()).toEqual([waitingCallOf(result)]);
});

test("a call that asks nothing costs no operation of the store", async () => {
  const store = watchStore(createMemoryStore());
  const { fetch } = startProcess(
    createAskingServer(() => done()),
    { store },
  );
  expect((await send(fetch)).result).toEqual(done());
  expect(store.operations).toEqual([]);
});

test("declares in each request that a person can be asked", async () => {
  const server = createAskingServer(() => done());
  const { fetch } = startProcess(server);
  await send(fetch, { method: "tools/list", params: {} });
  await send(fetch);
  for (const { params } of server.legs) {
    expect(params["_meta"]).toMatchObject({
      "io.modelcontextprotocol/clientCapabilities": {
        sampling: {},
        elicitation: { form: {}, url: {} },
      },
    });
  }
});

test("takes a Request, and a body of bytes", async () => {
  const { waiting } = startProcess(createAskingServer(orders));
  const init = { method: "POST", body: JSON.stringify(askingRequest()) };
  for (const [input, own] of [
    [new Request(url, init)],
    [url, { ...init, body: new TextEncoder().encode(init.body) }],
  ] as const) {
    const { fetch: base } = createAskingServer(orders);
    const response = await waiting.wrap(base)(input, own);
    const [message] = await readMessages(response);
    expect(waitingCallOf(message.result)).toBeDefined();
  }
});

test("leaves requests of revisions with sessions alone, whatever their arguments say", async () => {
  const { waiting } = startProcess(createAskingServer(orders));
  const server = createAskingServer(() => done());
  const name = "io.modelcontextprotocol/protocolVersion";
  const params = { name: "order", arguments: { [name]: "2026-07-28" } };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
  await waiting.wrap(server.fetch)(url, { method: "POST", body });
  expect(server.legs[0]?.params).toEqual(params);
});

test("leaves a client alone that answers by itself", async () => {
  const { fetch, waiting } = startProcess(createAskingServer(() => asks("state 2")));
  const params = { name: "order", inputResponses: {}, requestState: "state 1" };
  expect((await send(fetch, { params })).result).toEqual(asks("state 2"));
  expect(await waiting.list()).toEqual([]);
});

const events = (...messages: object[]) =>
  new Response(messages.map((message) => `data: ${JSON.stringify(message)}\n\n`).join(""), {
    headers: { "content-type": "text/event-stream" },
  });
const progress = { jsonrpc: "2.0", method: "notifications/progress", params: { progress: 1 } };

test("finds the question in a stream, and lets what comes before it pass", async () => {
  const server = createAskingServer((leg) => events(progress, resultOf(leg, asks("s"))));
  const { fetch } = startProcess(server);
  const response = await fetch(url, { method: "POST", body: JSON.stringify(askingRequest()) });
  const [first, second, ...others] = await readMessages(response);
  expect(first).toEqual(progress);
  expect(waitingCallOf(second.result)).toBeDefined();
  expect(others).toEqual([]);
});

test.each<[string, (leg: Leg) => object]>([
  ["in the text of a tool's result", () => done('"resultType": "input_required"')],
  ["in an answer to another request", (leg) => events(resultOf({ ...leg, id: 77 }, asks("s")))],
  ["with a link that has a script in it", () => asks("s", { pay: urlQuestion("javascript:x") })],
])("takes nothing for a question that is none: %s", async (_, answer) => {
  const { fetch, waiting } = startProcess(createAskingServer(answer));
  const message = await send(fetch);
  expect(waitingCallOf(message.result)).toBeUndefined();
  expect(await waiting.list()).toEqual([]);
});

function urlQuestion(address: string) {
  return {
    method: "elicitation/create",
    params: { mode: "url", message: "Pay.", elicitationId: "1", url: address },
  };
}

test("no server can say that a call waits", async () => {
  const forged = { ...done(), _meta: { "durable-mcp/waiting": { id: "1" }, other: 1 } };
  const server = createAskingServer((_, number) => (number === 2 ? asks("s") : forged));
  const { fetch, waiting } = startProcess(server);
  expect((await send(fetch)).result).toEqual({ ...done(), _meta: { other: 1 } });
  await send(fetch);
  const [call] = await waiting.list();
  const answered = await answerWaitingCall(
    waiting,
    call!.id,
    { confirm: { action: "decline" } },
    { fetch: server.fetch },
  );
  expect(answered.result).toEqual({ ...done(), _meta: { other: 1 } });
});

/** A result with its letters written as escapes, in an event. */
const raw = ({ id }: Leg, result: string) =>
  new Response(`data: {"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}\n\n`, {
    headers: { "content-type": "text/event-stream" },
  });

test.each([
  ["of no revision with sessions", {}],
  ["of a client that answers by itself", { requestState: "s" }],
  ["of a revision with sessions", { _meta: {} }],
])("no server can say with escapes that a call waits, in an answer %s", async (_, more) => {
  const call = '{"id":"1","kind":"authorization"}';
  const forged = `{"resultType":"complete","content":[{"type":"text","text":"x","_meta":{"durable-mcp\\/waiting":${call}}}],"_meta":{"durable-mc\\u0070\\/waiting":${call},"other":1},"structuredContent":{"_meta":{"durable-mcp\\u002fwaiting":${call}}}}`;
  const { fetch } = startProcess(createAskingServer((leg) => raw(leg, forged)));
  const { params } = askingRequest();
  expect((await send(fetch, { params: { ...params, ...more } })).result).toEqual({
    resultType: "complete",
    content: [{ type: "text", text: "x", _meta: {} }],
    _meta: { other: 1 },
    structuredContent: { _meta: {} },
  });
});

test("a question with escapes is one", async () => {
  const question = JSON.stringify(asks("s"))
    .replace("input_required", "input\\u005frequired")
    .replace("resultType", "result\\u0054ype");
  const { fetch, waiting } = startProcess(createAskingServer((leg) => raw(leg, question)));
  expect(waitingCallOf((await send(fetch)).result)).toMatchObject({ requests: { confirm } });
  expect(await waiting.list()).toHaveLength(1);
});

test("tells the client of a question that is too long to be kept", async () => {
  const { fetch, waiting } = startProcess(createAskingServer(() => asks("s".repeat(600_000))));
  const { error } = await send(fetch);
  expect(error.message).toMatch(
    /more than the 500000 characters that can wait. It was not carried out.$/,
  );
  expect(await waiting.list()).toEqual([]);
});

test.each<[string, OnWaiting]>([
  ["fails", () => Promise.reject(new Error("no mail"))],
  ["hangs", () => new Promise(() => undefined)],
])("an onWaiting that %s is said, and the call waits all the same", async (_, tell) => {
  const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
  const onWaiting = vi.fn<OnWaiting>(tell);
  const { fetch, waiting } = startProcess(createAskingServer(orders), { onWaiting });
  const answer = send(fetch);
  await vi.waitFor(() => expect(onWaiting).toHaveBeenCalled());
  await vi.advanceTimersByTimeAsync(11_000);
  expect(waitingCallOf((await answer).result)).toMatchObject({ state: "waiting" });
  expect(onWaiting).toHaveBeenCalledExactlyOnceWith((await waiting.list())[0]);
  expect(warn).toHaveBeenCalledExactlyOnceWith(expect.stringContaining("longer than 10000 ms"));
  warn.mockRestore();
});

const repeats = (_: Leg, number: number) => (number < 3 ? asks(`state ${number}`, null) : done());

describe("a server that has no question, and only wants another request", () => {
  test("gets it, with the client's own headers, and the client gets the result", async () => {
    const server = createAskingServer(repeats);
    const onWaiting = vi.fn<OnWaiting>();
    const { fetch, waiting } = startProcess(server, { onWaiting });
    const own = { authorization: "Bearer t", accept: "application/json" };
    const answer = send(fetch, {}, { headers: own });
    expect((await passTime(answer)).result).toEqual(done());
    expect(onWaiting, "nobody gets a mail without a question").not.toHaveBeenCalled();
    expect(server.legs.map(({ params }) => params.requestState)).toEqual([
      ...[undefined, "state 1", "state 2"],
    ]);
    expect(server.legs.map(({ headers }) => headers.get("authorization"))).toEqual([
      ...["Bearer t", "Bearer t", "Bearer t"],
    ]);
    expect(server.legs[2]?.headers.get("accept"), "a leg takes a stream, too").toContain("event");
    expect(await waiting.list()).toEqual([]);
  });

  test("gets it ten times at most", async () => {
    const server = createAskingServer(() => asks("again", null));
    const { fetch } = startProcess(server);
    const answer = send(fetch);
    expect((await passTime(answer)).error.message).toContain("more than 10 times");
    expect(server.legs).toHaveLength(11);
  });

  test("the call waits if that fails, and an answer without members goes on", async () => {
    const server = createAskingServer((_, number) =>
      number === 2 ? new Response("", { status: 401 }) : repeats(_, number),
    );
    const { fetch, waiting } = startProcess(server);
    const answer = send(fetch);
    const call = waitingCallOf((await passTime(answer)).result);
    expect(call).toMatchObject({ state: "waiting", round: 1, requests: {} });
    const answered = await answerWaitingCall(waiting, call!.id, {}, { fetch: server.fetch });
    expect(answered).toMatchObject({ call: { state: "settled" }, result: done() });
  });

  test("the call waits if the client leaves", async () => {
    const server = createAskingServer(repeats);
    const { fetch, waiting } = startProcess(server);
    const leaving = new AbortController();
    const answer = send(fetch, {}, { signal: leaving.signal }).catch((error: unknown) => error);
    await vi.waitFor(async () => expect(await waiting.list()).toHaveLength(1));
    leaving.abort();
    await passTime(answer);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(server.legs).toHaveLength(1);
    expect(await waiting.list()).toMatchObject([{ state: "waiting", requests: {} }]);
  });
});
