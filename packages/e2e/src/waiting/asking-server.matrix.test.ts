import { checkInputResponses, type InputResponse } from "@durable-mcp/core/waiting";
import {
  type CallToolResult,
  Client,
  type InputRequiredResult,
  isInputRequiredResult,
  ProtocolError,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type AskingServer, startAskingServer } from "../servers/asking.ts";

let server: AskingServer;
beforeAll(async () => {
  server = await startAskingServer({ auth: ["ada", "bob"] });
});
afterAll(() => server?.stop());

/** An unmodified client of its own, as another process has it. */
async function connect(token = "ada"): Promise<Client> {
  const client = new Client(
    { name: "asked", version: "1.0.0" },
    {
      versionNegotiation: { mode: "auto" },
      capabilities: { elicitation: { form: {}, url: {} } },
      inputRequired: { autoFulfill: false },
    },
  );
  const headers = { authorization: `Bearer ${token}` };
  await client.connect(
    new StreamableHTTPClientTransport(new URL(server.url), { requestInit: { headers } }),
  );
  return client;
}

interface Call {
  name: string;
  arguments?: Record<string, unknown>;
  inputResponses?: Record<string, unknown>;
  requestState?: string | undefined;
}

/** One leg, from a client of its own. */
async function leg(call: Call, token?: string): Promise<CallToolResult | InputRequiredResult> {
  const client = await connect(token);
  try {
    return await client.callTool(call, { allowInputRequired: true });
  } finally {
    await client.close();
  }
}

async function asks(call: Call): Promise<InputRequiredResult> {
  const result = await leg(call);
  if (!isInputRequiredResult(result)) throw new Error(JSON.stringify(result));
  return result;
}

async function answers(call: Call): Promise<CallToolResult> {
  const result = await leg(call);
  if (isInputRequiredResult(result)) throw new Error(JSON.stringify(result));
  return result;
}

function urlOf({ inputRequests }: InputRequiredResult, key: string): string {
  const params = inputRequests?.[key]?.params;
  if (params === undefined || !("url" in params)) throw new Error(`${key} has no URL.`);
  return params.url;
}

const bothTypes = "application/json, text/event-stream";
const accept = (content?: object): InputResponse => ({
  action: "accept",
  ...(content && { content }),
});
const text = ({ content }: CallToolResult) =>
  content[0]?.type === "text" ? content[0].text : undefined;

test("answers a question in another process, by its state", async () => {
  const { inputRequests, requestState } = await asks({ name: "ask_all_fields" });
  expect(Object.keys(inputRequests ?? {})).toEqual(["person"]);
  const person = {
    ...{ name: "Ada", email: "ada@shop.example", website: "https://ada.example", age: 36 },
    ...{ day: "2026-07-28", moment: "2026-07-28T09:30:00Z", tip: 1.5, news: false },
    ...{ size: "large", colour: "#0f0", wrapping: "paper", toppings: ["olives"], extras: ["bow"] },
  };
  const inputResponses = { person: accept(person) };
  checkInputResponses(inputRequests ?? {}, inputResponses);
  const result = await answers({ name: "ask_all_fields", inputResponses, requestState });
  expect(JSON.parse(text(result) ?? "")).toEqual(person);
});

test("asks again after an answer that is refused before it is sent", async () => {
  const call = { name: "place_order", arguments: { item: "milk" } };
  const { requestState, inputRequests = {} } = await asks(call);
  for (const content of [{}, { ok: "yes" }, { yes: true }]) {
    const inputResponses = { confirm: accept(content) };
    expect(() => checkInputResponses(inputRequests, inputResponses)).toThrow(/^confirm\.content\./);
    const again = await asks({ ...call, inputResponses, requestState });
    expect(again.inputRequests).toEqual(inputRequests);
  }
});

test("orders after two rounds, with a restart between them", async () => {
  const call = { name: "place_order_typed", arguments: { item: "tea" } };
  const first = await asks(call);
  const confirmed = { inputResponses: { confirm: accept({ ok: true }) } };
  const second = await asks({ ...call, ...confirmed, requestState: first.requestState });
  expect(Object.keys(second.inputRequests ?? {})).toEqual(["delivery"]);
  await server.restart();
  expect(server.orders()).toEqual([]);
  const inputResponses = { delivery: accept({ time: "12:00" }) };
  const { requestState } = second;
  const { structuredContent } = await answers({ ...call, inputResponses, requestState });
  expect(structuredContent).toEqual({ item: "tea", ordered: true, time: "12:00" });
  expect(server.orders()).toMatchObject([{ item: "tea", time: "12:00" }]);
  const legs = server.legs().filter(({ params }) => params.name === call.name);
  expect(legs.map(({ params }) => params.requestState)).toEqual([
    undefined,
    first.requestState,
    second.requestState,
  ]);

  // Nothing protects a client that sends a leg twice.
  await answers({ ...call, inputResponses, requestState });
  expect(server.orders()).toHaveLength(2);
});

test("orders nothing for a person who says no", async () => {
  const call = { name: "place_order", arguments: { item: "coffee" } };
  for (const confirm of [{ action: "decline" }, { action: "cancel" }, accept({ ok: false })]) {
    const { requestState } = await asks(call);
    const result = await answers({ ...call, inputResponses: { confirm }, requestState });
    expect(text(result)).toBe("coffee was not ordered.");
  }
});

test("refuses a state that has expired, was changed, or is somebody else's", async () => {
  const call = { name: "quick_expiry", arguments: { seconds: 1 } };
  const { requestState = "" } = await asks(call);
  const inputResponses = { confirm: accept({ ok: true }) };
  const refused = { code: -32_602, data: { reason: "invalid_request_state" } };
  const again = { ...call, inputResponses, requestState };
  await expect(leg({ ...again, requestState: `${requestState}x` })).rejects.toMatchObject(refused);
  await expect(leg(again, "bob")).rejects.toMatchObject(refused);
  await expect
    .poll(() => leg(again).catch((error: unknown) => error), { interval: 200 })
    .toMatchObject(refused);
  expect(await leg(again).catch((error: unknown) => error)).toBeInstanceOf(ProtocolError);
});

test("asks for a form and a URL at once, and for a URL until it was opened", async () => {
  const { inputRequests, requestState } = await asks({ name: "both" });
  expect(inputRequests).toMatchObject({
    confirm: { params: { message: "Go on?" } },
    login: { params: { mode: "url" } },
  });
  const inputResponses = { confirm: accept({ ok: true }), login: accept() };
  expect(text(await answers({ name: "both", inputResponses, requestState }))).toContain(
    '"ok":true',
  );

  const call = { name: "consent", arguments: { untilVisited: true } };
  const login = { login: accept() };
  const first = await asks(call);
  const again = await asks({ ...call, inputResponses: login, requestState: first.requestState });
  expect(again.inputRequests).toEqual(first.inputRequests);
  expect(server.visits()).toBe(0);
  await fetch(urlOf(first, "login"));
  const done = { ...call, inputResponses: login, requestState: again.requestState };
  expect(text(await answers(done))).toBe("Signed in.");
});

test("goes on without questions, without a state, and for many rounds", async () => {
  const poll = { name: "poll", arguments: { retries: 1 } };
  const { requestState, inputRequests } = await asks(poll);
  expect(inputRequests).toEqual({});
  expect(text(await answers({ ...poll, requestState }))).toBe("Done.");

  const bare = await asks({ name: "bare" });
  expect(bare.requestState).toBeUndefined();
  const inputResponses = { confirm: accept({ ok: true }) };
  expect(text(await answers({ name: "bare", inputResponses }))).toContain('"accept"');

  const many = { name: "many_rounds", arguments: { rounds: 3 } };
  let result = await leg(many);
  for (const said of ["a", "b", "c"]) {
    if (!isInputRequiredResult(result)) break;
    const next = { inputResponses: { next: accept({ text: said }) } };
    result = await leg({ ...many, ...next, requestState: result.requestState });
  }
  expect(result).toMatchObject({ content: [{ text: "a b c" }] });
});

test("wants a header for a marked argument, and the capability", async () => {
  const client = await connect();
  await client.listTools();
  const call = { name: "with_header", arguments: { region: "north" } };
  expect(await client.callTool(call, { allowInputRequired: true })).toMatchObject({
    resultType: "input_required",
  });
  expect(server.legs().at(-1)?.headers["mcp-param-region"]).toBe("north");
  await client.close();

  const { params, headers } = server.legs().at(-1)!;
  const { _meta: envelope, ...sameCall } = params;
  const post = (sent: Record<string, string>, more = {}) =>
    fetch(server.url, {
      method: "POST",
      headers: { ...sent, "content-type": "application/json", accept: bothTypes },
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method: "tools/call",
        params: { ...sameCall, _meta: { ...envelope, ...more } },
      }),
    }).then((response) => response.json());
  const { "mcp-param-region": _, ...others } = headers;
  expect(await post(others)).toMatchObject({ error: { code: -32_020 } });
  const withoutCapability = { "io.modelcontextprotocol/clientCapabilities": {} };
  expect(await post(headers, withoutCapability)).toMatchObject({ error: { code: -32_021 } });
});

test("asks for prompts and resources too", async () => {
  const client = await connect();
  const inputResponses = { name: accept({ text: "Ada" }) };
  const request = (method: string, params: Record<string, unknown>) =>
    client.request({ method, params } as never, { allowInputRequired: true } as never);
  for (const [method, params] of [
    ["prompts/get", { name: "letter" }],
    ["resources/read", { uri: "asking://letter" }],
  ] as const) {
    expect(await request(method, params)).toMatchObject({ resultType: "input_required" });
    const result = await request(method, { ...params, inputResponses });
    expect(JSON.stringify(result)).toContain("Dear Ada");
  }
  await client.close();
});
