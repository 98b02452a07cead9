import { createMcpHandler } from "@modelcontextprotocol/server";
import { expect, test, vi } from "vitest";
import { createOrderingServer } from "../fixtures/ordering-server.ts";

// What docs/guides/server.md tells the authors of servers, with the server that it links to.

const key = "a key that all replicas and restarts share";
const minutes = 60_000;

interface Leg {
  item?: string;
  confirm?: object;
  requestState?: string;
  /** Whose leg it is. */
  subject?: string;
  canBeAsked?: boolean;
}

/** A shop that does its work once for each order, and the replicas that serve it. */
function openShop(ttlSeconds?: number) {
  const orders = new Map<string, string>();
  let ids = 0;
  const startReplica = (ownKey = key) => {
    const world = {
      ...{ key: ownKey, newOrderId: () => `order ${(ids += 1)}` },
      ...(ttlSeconds !== undefined && { ttlSeconds }),
      placeOrder: async (id: string, item: string) => void orders.set(id, item),
    };
    return createMcpHandler(() => createOrderingServer(world), { legacy: "reject" });
  };
  let tokens = 0;
  /** One leg, at a replica of its own, with a token of its own. */
  const send = async (leg: Leg, server = startReplica()) => {
    const { subject = "ada" } = leg;
    const authInfo = { token: `token ${(tokens += 1)}`, clientId: "a", scopes: [] };
    const request = callOf({ item: "tea", canBeAsked: true, ...leg });
    const response = await server.fetch(request, { authInfo: { ...authInfo, extra: { subject } } });
    const text = await response.text();
    const data = /^data: (.*)$/m.exec(text)?.[1] ?? text;
    return JSON.parse(data) as { result?: Record<string, any>; error?: Record<string, any> };
  };
  const ask = async (leg: Leg = {}) => {
    const { result } = await send(leg);
    expect(result).toMatchObject({ resultType: "input_required" });
    return result?.["requestState"] as string;
  };
  return { orders, send, ask, startReplica };
}

function callOf({ item, confirm, requestState, canBeAsked }: Leg & { item: string }): Request {
  const version = "2026-07-28";
  const name = "io.modelcontextprotocol";
  const meta = {
    [`${name}/protocolVersion`]: version,
    [`${name}/clientInfo`]: { name: "asked", version: "1" },
    [`${name}/clientCapabilities`]: canBeAsked ? { elicitation: { form: {} } } : {},
  };
  const params = {
    ...{ name: "order", arguments: { item }, _meta: meta },
    ...(confirm && { inputResponses: { confirm } }),
    ...(requestState !== undefined && { requestState }),
  };
  return new Request("http://localhost/mcp", {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": version,
      "mcp-method": "tools/call",
      "mcp-name": "order",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
  });
}

const yes = { action: "accept", content: { ok: true } };
const refused = { error: { code: -32_602, data: { reason: "invalid_request_state" } } };
const asksAgain = { result: { resultType: "input_required" } };

test("an answer is taken by another replica, with another token of the same person", async () => {
  const { orders, ask, send } = openShop();
  const { result } = await send({ confirm: yes, requestState: await ask() });
  expect(result).toMatchObject({ content: [{ text: "Ordered tea." }] });
  expect([...orders.values()]).toEqual(["tea"]);
});

test("another person's answer, and one to a replica with another key, are refused before the tool", async () => {
  const { orders, ask, send, startReplica } = openShop();
  const answer = { confirm: yes, requestState: await ask() };
  expect(await send({ ...answer, subject: "bob" })).toMatchObject(refused);
  const other = startReplica("the key that another replica made for itself");
  expect(await send(answer, other)).toMatchObject(refused);
  expect(orders.size).toBe(0);
});

test("the last answer, sent twice, is carried out once", async () => {
  const { orders, ask, send } = openShop();
  const answer = { confirm: yes, requestState: await ask() };
  const both = [await send(answer), await send(answer)];
  expect(both).toMatchObject([{ result: { content: [{ text: "Ordered tea." }] } }, both[0]]);
  expect([...orders]).toEqual([["order 1", "tea"]]);
});

test("without its state, or for other arguments, an answer orders nothing", async () => {
  const { orders, ask, send } = openShop();
  expect(await send({ confirm: yes })).toMatchObject(asksAgain);
  const answer = { confirm: yes, requestState: await ask() };
  expect(await send({ ...answer, item: "gold" })).toMatchObject(asksAgain);
  expect(orders.size).toBe(0);
});

test("no, a closed question and a form that does not fit order nothing", async () => {
  const { orders, ask, send } = openShop();
  const no = { action: "accept", content: { ok: false } };
  for (const confirm of [{ action: "decline" }, { action: "cancel" }, no]) {
    const { result } = await send({ confirm, requestState: await ask() });
    expect(result).toMatchObject({ content: [{ text: "Not ordered." }] });
  }
  const confirm = { action: "accept", content: { ok: "perhaps" } };
  expect(await send({ confirm, requestState: await ask() })).toMatchObject(asksAgain);
  expect(orders.size).toBe(0);
});

test("a state can be read by whoever holds it", async () => {
  const [, body = ""] = (await openShop().ask()).split(".");
  expect(Buffer.from(body, "base64url").toString()).toContain('"item":"tea"');
});

test("a client that cannot be asked is refused", async () => {
  const { orders, send } = openShop();
  expect(await send({ canBeAsked: false })).toMatchObject({ error: { code: -32_021 } });
  expect(orders.size).toBe(0);
});

test("a state lasts for ten minutes by default, and for as long as the author says", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  try {
    const byDefault = openShop();
    const forDays = openShop(7 * 86_400);
    const answers = [
      { confirm: yes, requestState: await byDefault.ask() },
      { confirm: yes, requestState: await forDays.ask() },
    ] as const;
    vi.setSystemTime(Date.now() + 11 * minutes);
    expect(await byDefault.send(answers[0])).toMatchObject(refused);
    expect(await forDays.send(answers[1])).toMatchObject({ result: { resultType: "complete" } });
    vi.setSystemTime(Date.now() + 8 * 24 * 60 * minutes);
    expect(await forDays.send(answers[1])).toMatchObject(refused);
  } finally {
    vi.useRealTimers();
  }
});
