/** Public reports about frameworks, with the real packages: as they are, and on the session fetch. */
import {
  createDurableSessions,
  defineMcpClientConnection,
  openSessionFetch,
  type ConnectionEvent,
} from "@durable-mcp/ai-sdk";
import { createMemoryStore, createSessionFetch, createSessionSlot } from "@durable-mcp/core";
import { createFaultyServer } from "@durable-mcp/testing";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { frameworks, installFrameworks } from "../compatibility/extra-packages.ts";

// They are many: npm takes minutes, and Node some seconds.
beforeAll(async () => {
  await installFrameworks();
  await frameworks();
}, 900_000);

/** How calls end without us when the server has forgotten the session, and how many sessions it makes. */
const alone = {
  "@mastra/mcp": ["failed", 1],
  "@openai/agents": ["failed", 1],
  "@strands-agents/sdk": ["failed", 1],
  "@genkit-ai/mcp": ["failed", 1],
  // A session for each list and for each call.
  "@google/adk": ["answered", 6],
} as const;
const names = Object.keys(alone) as (keyof typeof alone)[];

async function start(name: string, isOurs: boolean) {
  const server = await createFaultyServer({
    era: "2025-11-25",
    tools: { order: ({ item }: { item: string }) => `Ordered ${item}.` },
  });
  const { url } = server;
  const fetch = isOurs ? createSessionFetch({ url, slot: createSessionSlot() }) : globalThis.fetch;
  const { clients } = await frameworks();
  const { call, close } = await clients[name](url, fetch);
  onTestFinished(async () => {
    await close().catch(() => undefined);
    await server.close();
  });
  const order = async (item: string) =>
    await call("order", { item }).then(
      () => "answered",
      () => "failed",
    );
  return {
    ...{ server, order, ran: () => server.ledger.map(({ input }) => input.item) },
    /** How many sessions it has made. */
    sessions: () => server.requests.filter(({ rpcMethod }) => rpcMethod === "initialize").length,
  };
}

test.each(names)("%s goes on after a 404 on our fetch, in one new session", async (name) => {
  for (const isOurs of [false, true]) {
    const { server, order, ran, sessions } = await start(name, isOurs);
    expect(await order("tea")).toBe("answered");
    server.forgetSessions();
    const next = [await order("milk"), await order("rice")];
    const [end, made] = isOurs ? ["answered", 2] : alone[name];
    expect(next).toEqual([end, end]);
    expect(ran()).toEqual(end === "answered" ? ["tea", "milk", "rice"] : ["tea"]);
    expect(sessions()).toBe(made);
  }
});

test.each(names)("%s runs nothing twice on our fetch when the connection is cut", async (name) => {
  const { server, order, ran } = await start(name, true);
  expect(await order("tea")).toBe("answered");
  server.reset({ carriedOut: true, times: 1 });
  expect(await order("milk")).toBe("failed");
  expect(ran()).toEqual(["tea", "milk"]);
  expect(await order("rice")).toBe("answered");
});

test.each(names)("%s goes on in the next process on a fetch with a store", async (name) => {
  const server = await createFaultyServer({
    era: "2025-11-25",
    tools: {
      order: {
        run: (_: unknown, { session }) =>
          `Order ${(session["orders"] = (session["orders"] ?? 0) + 1)}.`,
      },
    },
  });
  onTestFinished(() => server.close());
  const { clients } = await frameworks();
  const store = createMemoryStore();
  const principal = { type: "anonymous" } as const;
  const bodies: string[] = [];
  for (const item of ["tea", "milk"]) {
    bodies.length = 0;
    const own = { url: server.url, store, session: "chat", principal, connection: "shop" };
    const { fetch, close } = await openSessionFetch({
      ...own,
      fetch: async (input, init) => {
        bodies.push(init?.body as string);
        return await globalThis.fetch(input, init);
      },
    });
    const client = await clients[name](server.url, fetch);
    await client.call("order", { item });
    await client.close();
    await close();
  }
  expect(bodies).toEqual([expect.stringContaining('"tools/call"')]);
  expect(server.ledger).toHaveLength(2);
});

test.each(["@zuplo/mcp", "@rekog/mcp-nest"])(
  "%s forgets its session, and the step's call is answered",
  async (name) => {
    const { servers } = await frameworks();
    const ran: string[] = [];
    const begin = () => servers[name]((item: string) => `Ordered ${ran[ran.push(item) - 1]}.`);
    let server = await begin();
    onTestFinished(() => server.close());
    const events: ConnectionEvent[] = [];
    const shop = defineMcpClientConnection({
      ...{ url: "http://shop.test/mcp", description: "A shop.", session: "stateful" },
      fetch: (_, init) => server.fetch(server.url, init),
    });
    const every = (event: ConnectionEvent) => void events.push(event);
    const connections = { shop };
    const store = createMemoryStore();
    const sessions = createDurableSessions({ connections, store, onEvent: { every } });
    const principal = { type: "user", issuer: "https://idp.test", id: "alice" } as const;
    const order = async (item: string) =>
      await sessions.run("chat", { principal }, (run) => run.call("shop", "order", { item }));
    await order("tea");
    await server.close();
    server = await begin();
    await order("milk");
    expect(ran).toEqual(["tea", "milk"]);
    const types = events.map(({ type }) => type);
    expect(types).toEqual(expect.arrayContaining(["started", "lost", "recovered"]));
  },
);
