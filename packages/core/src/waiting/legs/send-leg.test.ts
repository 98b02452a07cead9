import { describe, expect, test, vi } from "vitest";
import {
  asks,
  confirm,
  createAskingServer,
  done,
  type Leg,
  orders,
  resultOf,
  send,
  startProcess,
  startWaiting,
  yes,
} from "../../../test/asking-server.ts";
import {
  type ForgottenAnswer,
  forgottenAnswer,
  forgottenAnswers,
} from "../../../test/forgotten-answers.ts";
import { McpSessionError } from "../../index.ts";

/** A call that waits, and answers to its second leg. */
const startAnswering = (
  second: (leg: Leg) => object | Promise<object>,
  safeTools?: readonly string[],
) => startWaiting((leg, number) => (number === 1 ? asks("s") : second(leg)), { safeTools });

test("repeats the request and what describes it, and nothing that was for one leg", async () => {
  const server = createAskingServer(orders);
  const { fetch, waiting, answer } = startProcess(server);
  const params = { name: "order", arguments: { item: "tea", ["__proto__"]: 1, deep: [{}] } };
  const meta = { progressToken: 7, traceparent: "00-1", tracestate: "a", baggage: "b", "a/b": 1 };
  const headers = {
    authorization: "Bearer old",
    cookie: "c",
    traceparent: "00-1",
    "mcp-name": "order",
    "Mcp-Param-Region": "=?base64?w6k=?=",
    "x-other": "1",
  };
  await send(fetch, { id: 3, params, meta }, { headers });
  const [call] = await waiting.list();
  const signed: typeof server.fetch = (input, init) => {
    const own = new Headers(init?.headers);
    own.set("authorization", "Bearer new");
    return server.fetch(input, { ...init, headers: own });
  };
  await answer(call!.id, yes, { fetch: signed });
  const [first, second] = server.legs;
  const { inputResponses, requestState, ...repeated } = second!.params;
  const kept = { ...first!.params["_meta"] };
  for (const name of ["progressToken", "traceparent", "tracestate", "baggage"]) delete kept[name];
  expect(JSON.stringify(repeated)).toBe(JSON.stringify({ ...first!.params, _meta: kept }));
  expect(kept["io.modelcontextprotocol/clientCapabilities"]).toEqual({
    sampling: {},
    elicitation: { form: {}, url: {} },
  });
  expect(second!.id).not.toBe(first!.id);
  expect({ inputResponses, requestState }).toEqual({
    inputResponses: yes,
    requestState: "state 1",
  });
  expect(Object.fromEntries(second!.headers)).toEqual({
    accept: "application/json, text/event-stream",
    authorization: "Bearer new",
    "content-type": "application/json",
    "mcp-method": "tools/call",
    "mcp-name": "order",
    "mcp-param-region": "=?base64?w6k=?=",
    "mcp-protocol-version": "2026-07-28",
  });
});

const states = ["", ' a\u0000"\\\u2028é💡\uD800 ', "x".repeat(100_000), undefined];

test.each(states)("echoes the state of the round, and of no other: %#", async (state) => {
  const { answer, id, server } = await startWaiting((_, number) =>
    number === 1 ? asks(state) : number === 2 ? asks(undefined) : done(),
  );
  await answer(id);
  await answer(id);
  const [, second, third] = server.legs;
  expect([...("requestState" in second!.params ? [second!.params.requestState] : [])]).toEqual(
    state === undefined ? [] : [state],
  );
  expect(third!.params).not.toHaveProperty("requestState");
  expect(new Set(server.legs.map((leg) => leg.id)).size).toBe(3);
});

test("sends decline and cancel, under any key of the server", async () => {
  const keys = ["__proto__", "constructor", "toString"];
  const of = (value: object) => Object.fromEntries(keys.map((key) => [key, value]));
  const { answer, call, id, server } = await startWaiting((_, number) =>
    number < 3 ? asks("s", of(confirm)) : done(),
  );
  expect(Object.keys(call.requests)).toEqual(keys);
  for (const action of ["decline", "cancel"] as const) await answer(id, of({ action }) as {});
  expect(server.legs.slice(1).map(({ params }) => Object.entries(params.inputResponses))).toEqual([
    keys.map((key) => [key, { action: "decline" }]),
    keys.map((key) => [key, { action: "cancel" }]),
  ]);
});

test("shows the URL of a question, and fetches none", async () => {
  const params = { mode: "url", message: "Pay.", url: "https://pay.example/checkout#form" };
  const pay = { method: "elicitation/create", params };
  const { answer, call, id, server } = await startWaiting((_, number) =>
    number === 1 ? asks("s", { pay }) : done(),
  );
  expect(call.requests).toEqual({ pay });
  const fetch = vi.fn<typeof server.fetch>(server.fetch);
  await answer(id, { pay: { action: "accept" } }, { fetch });
  expect(fetch.mock.calls.map(([input]) => input)).toEqual([server.url]);
});

const events = (text: string) =>
  new Response(text, { headers: { "content-type": "text/event-stream" } });
const event = (message: object) => `data: ${JSON.stringify(message)}\n\n`;
const error = { code: -32_602, message: "No tea.", data: { left: 0 } };
const rpcError = (leg: Leg, status = 200, own: unknown = error) =>
  Response.json({ jsonrpc: "2.0", id: leg.id, error: own }, { status });
const broken = (text: string) =>
  new Response(
    new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(text));
        controller.error(new TypeError("terminated"));
      },
    }),
    { headers: { "content-type": "text/event-stream" } },
  );

describe("the server's answer settles the call", () => {
  const progress = { jsonrpc: "2.0", method: "notifications/progress", params: {} };
  test.each<[string, (leg: Leg) => object, object]>([
    ["a result", () => done(), { result: done() }],
    ["a result of a tool that failed", () => ({ ...done(), isError: true }), {}],
    [
      "a result after progress",
      (leg) => events(event(progress) + event(resultOf(leg, done()))),
      {},
    ],
    ["words like a question's", () => done('"input_required"'), {}],
    ["an error", (leg) => rpcError(leg), { error }],
    ["an error with HTTP 400", (leg) => rpcError(leg, 400), { error }],
    [
      "an error that comes after handlers too, whatever it says",
      (leg) => rpcError(leg, 400, { code: -32_602, message: "Unsupported protocol version" }),
      {},
    ],
    ["an error with HTTP 500", (leg) => rpcError(leg, 500), { error }],
    [
      "an error without a message",
      (leg) => rpcError(leg, 200, { code: 1 }),
      { error: { code: 1, message: "" } },
    ],
  ])("%s", async (_, second, settled) => {
    const { answer, waiting, id, server } = await startAnswering(second);
    const answered = await answer(id);
    expect(answered).toMatchObject({ ...settled, call: { state: "settled" } });
    expect(await waiting.find(id)).toEqual(answered);
    expect(await waiting.list()).toEqual([]);
    await expect(answer(id)).rejects.toMatchObject({ code: "NOT_WAITING" });
    expect(server.legs).toHaveLength(2);
  });

  test("a result that is too long for the store leaves a note", async () => {
    const { answer, id } = await startAnswering(() => done("x".repeat(1_000_000)));
    const { call, result } = await answer(id);
    expect(call.state).toBe("settled");
    expect(result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringMatching(/lost\.$/) }],
    });
  });

  test.each([
    ["a result", { content: [] }],
    ["a question", { resultType: "input_required", requestState: "s" }],
  ])("%s that is nested too deep leaves a note", async (_, result) => {
    const [levels, id] = [100_000, (leg: Leg) => JSON.stringify(leg.id)];
    const deep = `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;
    const text = `${JSON.stringify(result).slice(0, -1)},"_meta":${deep},"inputRequests":{"x":{"method":"elicitation/create","params":${deep}}}}`;
    const { answer, id: call } = await startAnswering(
      (leg) => new Response(`{"jsonrpc":"2.0","id":${id(leg)},"result":${text}}`),
    );
    const answered = await answer(call);
    expect(answered.call.state).toBe("settled");
    expect(JSON.stringify(answered)).toContain("is nested too deep");
  });

  test("a result that only just fits does not", async () => {
    const long = done("x".repeat(800_000));
    const { answer, id, waiting } = await startAnswering(() => long);
    expect((await answer(id)).result).toEqual(long);
    expect((await waiting.find(id))?.result).toEqual(long);
  });
});

function failure(message: string, code?: string) {
  return Object.assign(new TypeError(message), {
    cause: Object.assign(new Error(message), { code }),
  });
}

function unavailable(headers: Record<string, string> = {}) {
  return new Response("Busy.", { status: 503, headers });
}

describe("the questions wait again, because nothing was carried out", () => {
  test.each<[string, (leg: Leg) => object]>([
    ...[400, 401, 403, 429].map(
      (status) =>
        [`HTTP ${status}`, () => new Response("No.", { status })] as [string, () => Response],
    ),
    ["HTTP 404 without words", () => new Response(null, { status: 404 })],
    ["HTTP 503 of a server that asks to come back", () => unavailable({ "retry-after": "1" })],
    ["a login page that looks like an answer", (leg) => rpcError(leg, 401)],
    // Some servers name the request in them.
    ...[
      { code: -32_000, message: "Bad Request: Mcp-Session-Id header is required" },
      { code: -32_000, message: "Bad Request: Server not initialized" },
      { code: -32_000, message: "Bad Request: No valid session ID provided" },
      { code: -32_000, message: "Bad Request: Unsupported protocol version: 2026-07-28" },
      { code: -32_020, message: "Header mismatch" },
      { code: -32_022, message: "No", data: { supported: ["2025-11-25"] } },
    ].map(
      (own) =>
        [`HTTP 400, ${own.code} ${own.message}`, (leg: Leg) => rpcError(leg, 400, own)] as [
          string,
          (leg: Leg) => object,
        ],
    ),
    [
      "HTTP 404 for an unknown session",
      (leg) => rpcError(leg, 404, { code: -32_001, message: "Session not found" }),
    ],
    ["a redirect", () => new Response(null, { status: 307, headers: { location: "/x" } })],
    ["no connection", () => Promise.reject(failure("fetch failed", "ECONNREFUSED"))],
    ["no token", () => Promise.reject(new McpSessionError("CONNECTION_UNAVAILABLE", "Sign in."))],
  ])("%s", async (_, second) => {
    let isBroken = true;
    const { answer, waiting, id, server } = await startAnswering((leg) =>
      isBroken ? second(leg) : done(),
    );
    const refused = await answer(id).catch((reason: unknown) => reason);
    expect(refused).toBeInstanceOf(McpSessionError);
    expect(String(refused)).not.toContain("state 1");
    expect(await waiting.list()).toMatchObject([{ state: "waiting", round: 1 }]);
    isBroken = false;
    expect(await answer(id)).toMatchObject({ call: { state: "settled" } });
    expect(server.legs[2]!.params.requestState).toBe("s");
  });

  test("an abort before anything is sent", async () => {
    const { answer, waiting, id, server } = await startAnswering(() => done());
    const reason = new Error("too late");
    const use = { abortSignal: AbortSignal.abort(reason) };
    await expect(answer(id, yes, use)).rejects.toBe(reason);
    expect(server.legs).toHaveLength(1);
    expect(await waiting.list()).toMatchObject([{ state: "waiting" }]);
  });
});

const isSilent = ({ name }: ForgottenAnswer) => /empty|without error/.test(name);
// Routers and gates refuse before the work; the others may answer after it.
const isGate = ({ call, status }: ForgottenAnswer) =>
  call === "again" || [400, 403].includes(status);

test.each(forgottenAnswers)("an answer is carried out once, after $name", async (row) => {
  let ordered = isGate(row) ? 0 : 1;
  const { answer, waiting, id, server } = await startAnswering((leg) => {
    const { status, text, type } = forgottenAnswer(row, leg);
    if (server.legs.length === 2)
      return new Response(text, { status, headers: { "content-type": type } });
    ordered += 1;
    return done();
  });
  const first = await answer(id).catch((reason: unknown) => reason);
  const isRefused = McpSessionError.isInstance(first) && first.code === "CONNECTION_UNAVAILABLE";
  expect(isRefused || row.call !== "again").toBe(true);
  const isClaimed = String(first).includes("nothing was carried out");
  expect(isClaimed).toBe(isGate(row) && isRefused && !isSilent(row));
  if ((await waiting.list()).length > 0) await answer(id);
  expect(ordered).toBe(server.legs.length === 2 && isGate(row) ? 0 : 1);
});

describe("nobody knows whether the call was carried out", () => {
  const unknown: readonly [string, (leg: Leg) => object | Promise<object>][] = [
    ...[404, 408, 409, 410, 500, 502, 504].map(
      (status) =>
        [`HTTP ${status}`, () => new Response("Oh.", { status })] as [string, () => Response],
    ),
    ["a page with HTTP 404", () => new Response("<h1>Not found</h1>", { status: 404 })],
    // Some proxies answer so after they have passed the request on.
    ["HTTP 503 of nobody knows whom", () => unavailable()],
    ["a connection that breaks", () => Promise.reject(failure("fetch failed", "ECONNRESET"))],
    ["an error of nobody knows whom", () => Promise.reject(new Error("Oh."))],
    ["a stream that breaks", () => broken("data: {")],
    ["a stream that ends", () => events(": nothing\n\n")],
    ["an answer to another request", (leg) => resultOf({ ...leg, id: 9 }, done())],
    ["no result", ({ id }) => Response.json({ jsonrpc: "2.0", id })],
    ["a result that is none", ({ id }) => Response.json({ jsonrpc: "2.0", id, result: "done" })],
    ["an error that is none", (leg) => rpcError(leg, 200, "no")],
    ["HTTP 202", () => new Response(null, { status: 202 })],
    ["a question that is none", () => asks("s", { confirm: "?" })],
  ];
  test.each(unknown)("%s", async (name, second) => {
    // A whole Response, as the server says it.
    const { answer, waiting, id, server } = await startAnswering(async (leg) => {
      const given = await second(leg);
      return name === "an answer to another request" ? Response.json(given) : given;
    });
    const answered = await answer(id);
    expect(answered.call.state).toBe("outcome-unknown");
    expect(answered).not.toHaveProperty("result");
    expect(await waiting.list()).toEqual([]);
    await expect(answer(id)).rejects.toMatchObject({ data: { state: "outcome-unknown" } });
    expect(server.legs).toHaveLength(2);
  });

  test("of a tool that may run twice the questions wait again", async () => {
    const { answer, waiting, id } = await startAnswering(
      () => new Response("", { status: 500 }),
      ["order"],
    );
    await expect(answer(id)).rejects.toMatchObject({ code: "OUTCOME_UNKNOWN" });
    expect(await waiting.list()).toMatchObject([{ state: "waiting" }]);
  });

  test.each([new Error("late"), new McpSessionError("CONNECTION_UNAVAILABLE", "closed"), "late"])(
    "an abort while the server works, whatever its reason: %s",
    async (reason) => {
      const abort = new AbortController();
      const { answer, id } = await startAnswering(() => {
        setImmediate(() => abort.abort(reason));
        return new Promise(() => undefined);
      });
      const answered = await answer(id, yes, { abortSignal: abort.signal });
      expect(answered.call.state).toBe("outcome-unknown");
    },
  );
});

test("a task after an answer is kept, and looked at in its turn", async () => {
  const task = { resultType: "task", taskId: "task-secret", status: "working", pollIntervalMs: 50 };
  const { answer, id, waiting } = await startAnswering(() => task);
  const { call } = await answer(id);
  expect(call).toMatchObject({ type: "task", state: "waiting", status: "working", requests: {} });
  expect(JSON.stringify(await waiting.list())).not.toContain("secret");
});
