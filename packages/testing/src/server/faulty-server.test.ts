import { once } from "node:events";
import { request } from "node:http";
import {
  Client,
  type ClientOptions,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { callTool } from "../../test/order.ts";
import { startServer } from "../../test/start-server.ts";
import { createFaultyProxy } from "./faulty-proxy.ts";

async function connect({ url }: { url: string }, options: ClientOptions = {}) {
  const client = new Client({ name: "test", version: "1" }, options);
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  onTestFinished(() => client.close());
  return {
    client,
    order: async (item: string) =>
      ((await client.callTool({ name: "order", arguments: { item } })) as any).content[0].text,
  };
}

const modern: ClientOptions = { versionNegotiation: { mode: "auto" } };
const sure = { message: "Sure?", form: { yes: { type: "boolean" } } };

describe("a faulty server", () => {
  test("keeps what a tool keeps of a session, until it forgets", async () => {
    const server = await startServer({
      tools: {
        order: {
          inputSchema: z.object({ item: z.string() }),
          run: ({ item }, { session }) => [...(session["items"] ??= []), item].join(),
        },
      },
    });
    const { order } = await connect(server);
    expect(await order("tea")).toBe("tea");
    server.forgetSessions();
    await expect(order("milk")).rejects.toThrow("Session not found");
    expect(server.ledger).toEqual([{ tool: "order", input: { item: "tea" }, answers: {} }]);
    await expect(order(7 as never)).rejects.toThrow("Session not found");
  });

  test.each([{}, modern])("speaks the era that a client wants", async (options) => {
    const server = await startServer();
    const { order } = await connect(server, options);
    expect(await order("tea")).toBe("Ordered tea.");
    const isModern = options === modern;
    expect(server.requests[0]?.rpcMethod).toBe(isModern ? "server/discover" : "initialize");
    expect(server.requests.at(-1)?.session).toBe(isModern ? undefined : 1);
  });

  test("speaks another era from one request to the next", async () => {
    const server = await startServer({ era: "2025-11-25" });
    await expect(callTool(server.url, "order", { item: "tea" })).rejects.toThrow("HTTP 400");
    server.setEra("2026-07-28");
    await callTool(server.url, "order", { item: "tea" });
    expect(server.ledger).toHaveLength(1);
    await expect(connect(server)).rejects.toThrow("Unsupported protocol version");
  });

  test.each([{}, modern])("asks in rounds, in each era's way", async (options) => {
    const server = await startServer();
    server.ask("order", [{ sure }, { pay: { message: "Pay.", url: "https://pay.example/" } }]);
    const capabilities = { elicitation: { form: {}, url: {} } };
    const { client, order } = await connect(server, { ...options, capabilities });
    const asked: unknown[] = [];
    client.setRequestHandler("elicitation/create", ({ params }) => {
      asked.push(params.message);
      return { action: "accept", content: { yes: true } };
    });
    expect(await order("tea")).toBe("Ordered tea.");
    expect(asked).toEqual(["Sure?", "Pay."]);
    client.setRequestHandler("elicitation/create", () => ({ action: "decline" }));
    expect(await order("milk")).toBe("Nobody agreed to order.");
    expect(server.ledger.map(({ input }) => input.item)).toEqual(["tea"]);
  });

  test("keeps what a person has answered with its call", async () => {
    const server = await startServer();
    server.ask("order", [{ sure }]);
    const { requestState } = await callTool(server.url, "order", { item: "tea" });
    const inputResponses = { sure: { action: "accept", content: { yes: true } } };
    await callTool(server.url, "order", { item: "tea" }, { requestState, inputResponses });
    expect(server.ledger).toMatchObject([{ answers: { sure: { yes: true } } }]);
  });

  test("tells sessions that are open of other tools", async () => {
    const server = await startServer();
    const { client } = await connect(server);
    const changed = new Promise((resolve) => {
      client.setNotificationHandler("notifications/tools/list_changed", resolve as () => void);
    });
    const streams = () => server.requests.filter(({ httpMethod }) => httpMethod === "GET");
    await expect.poll(() => streams().map(({ status }) => status)).toEqual([200]);
    server.setTools({ order_now: () => "now" });
    await changed;
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["order_now"]);
  });
});

describe("a fault", () => {
  test("meets the requests that it is for, as often as said", async () => {
    const server = await startServer();
    server.refuse(503, { on: "order", times: 1 });
    await expect(callTool(server.url, "order", {})).rejects.toThrow("HTTP 503");
    await callTool(server.url, "order", {});
    server.refuse(500, { on: ({ headers }) => headers.get("mcp-name") === "order" });
    await expect(callTool(server.url, "order", {})).rejects.toThrow("HTTP 500");
    server.heal();
    await callTool(server.url, "order", {});
    expect(server.requests.map(({ status, tool }) => [status, tool])).toEqual(
      [503, 200, 500, 200].map((status) => [status, "order"]),
    );
  });

  test("holds an answer, which goes out later or never", async () => {
    const server = await startServer();
    for (const end of ["release", "drop"] as const) {
      const held = server.holdAnswer();
      const calling = callTool(server.url, "order", { item: "tea" }).then(
        () => "answered",
        () => "broken",
      );
      await held.reached;
      held[end]();
      expect(await calling).toBe(end === "release" ? "answered" : "broken");
    }
    expect(server.ledger).toHaveLength(2);
  });

  test("stands before another server", async () => {
    const server = await startServer();
    const proxy = await createFaultyProxy({ target: server.url });
    onTestFinished(() => proxy.close());
    const { order } = await connect(proxy);
    expect(await order("tea")).toBe("Ordered tea.");
    proxy.reset({ carriedOut: true, times: 1 });
    await expect(order("milk")).rejects.toThrow("fetch failed");
    proxy.forgetSessions({ dialect: "header-required" });
    await expect(order("rice")).rejects.toThrow("header is required");
    expect(server.ledger.map(({ input }) => input.item)).toEqual(["tea", "milk"]);
  });

  test.each(["http://HOST/mcp", "//HOST/mcp", "/\\HOST/mcp"])(
    "asks its own server alone, also for %s",
    async (line) => {
      const [own, other] = [await startServer(), await startServer()];
      const proxy = await createFaultyProxy({ target: own.url });
      onTestFinished(() => proxy.close());
      const path = line.replace("HOST", new URL(other.url).host);
      const sent = request(proxy.url, { path }, (answer) => answer.resume());
      await once(sent.end(), "close");
      expect([own.requests.length, other.requests.length]).toEqual([1, 0]);
    },
  );
});
