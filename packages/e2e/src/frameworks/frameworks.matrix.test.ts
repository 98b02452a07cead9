/** Public reports about frameworks, with the real packages: as they are, and on the session fetch. */
import { setTimeout } from "node:timers/promises";
import {
  createDurableSessions,
  defineMcpClientConnection,
  openSessionFetch,
  type ConnectionEvent,
} from "@durable-mcp/ai-sdk";
import { createMemoryStore } from "@durable-mcp/core";
import { createFaultyServer } from "@durable-mcp/testing";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import {
  connectFramework,
  frameworkServers,
  installFrameworks,
} from "../compatibility/extra-packages.ts";

// They are many: npm takes minutes, and Node some seconds.
beforeAll(async () => {
  await installFrameworks();
  await frameworkServers();
}, 900_000);

/** How calls end without us when the server has forgotten the session, and how many sessions it makes. */
const alone = {
  "ai-sdk": [["failed", "failed"], 1],
  "client-2": [["failed", "failed"], 1],
  "openai-agents": [["failed", "failed"], 1],
  "sdk-1": [["failed", "failed"], 1],
  "tanstack-ai": [["failed", "failed"], 1],
  genkit: [["failed", "failed"], 1],
  mastra: [["failed", "failed"], 1],
  strands: [["failed", "failed"], 1],
  // A session for each list and for each call.
  adk: [["answered", "answered"], 6],
} as const;
const names = Object.keys(alone) as (keyof typeof alone)[];

const ordered = ({ item }: { item: string }) => `Ordered ${item}.`;

async function start(name: string, isOurs: boolean) {
  const slow = async ({ item }: { item: string }) => {
    await setTimeout(slowMs);
    return ordered({ item });
  };
  const server = await createFaultyServer({ era: "2025-11-25", tools: { order: ordered, slow } });
  onTestFinished(() => server.close());
  const { url } = server;
  const store = createMemoryStore();
  const principal = { type: "anonymous" } as const;
  /** A process. */
  const connect = async () => {
    const own = { url, store, session: "chat", principal, connection: "shop", onEvent() {} };
    const opened = isOurs ? await openSessionFetch(own) : undefined;
    const client = await connectFramework(name, url, opened?.fetch ?? globalThis.fetch);
    const close = async () => {
      await client.close().catch(() => undefined);
      await opened?.close();
    };
    onTestFinished(close);
    const call = async (item: string, tool = "order") =>
      await client.call(tool, { item }).then(
        () => "answered",
        () => "failed",
      );
    return { call, close };
  };
  return {
    ...{ server, connect, ran: () => server.ledger.map(({ input }) => input.item) },
    /** How many sessions it has made. */
    sessions: () => server.requests.filter(({ rpcMethod }) => rpcMethod === "initialize").length,
  };
}

test.each(names)("%s goes on after a 404 on our fetch, in one new session", async (name) => {
  for (const isOurs of [false, true]) {
    const { server, connect, ran, sessions } = await start(name, isOurs);
    const { call } = await connect();
    expect(await call("tea")).toBe("answered");
    server.forgetSessions();
    const next = [await call("milk"), await call("rice")];
    const [ends, made] = isOurs ? [["answered", "answered"], 2] : alone[name];
    expect(next).toEqual(ends);
    const all = ["milk", "rice"].filter((_, at) => ends[at] === "answered");
    expect(ran()).toEqual(["tea", ...all]);
    expect(sessions()).toBe(made);
  }
});

test.each(names)("%s runs nothing twice on our fetch when a connection is cut", async (name) => {
  const { server, connect, ran } = await start(name, true);
  const { call } = await connect();
  expect(await call("tea")).toBe("answered");
  server.reset({ carriedOut: true, times: 1 });
  expect(await call("milk")).toBe("failed");
  server.cutStreams({ times: 1 });
  expect(await call("rice")).toBe("failed");
  expect(await call("salt")).toBe("answered");
  expect(ran()).toEqual(["tea", "milk", "rice", "salt"]);
});

test.each(names)("%s goes on in the next process with one request", async (name) => {
  const { server, connect, ran, sessions } = await start(name, true);
  let before = 0;
  for (const item of ["tea", "milk"]) {
    before = server.requests.length;
    const { call, close } = await connect();
    expect(await call(item)).toBe("answered");
    await close();
  }
  const sent = server.requests.slice(before).map(({ rpcMethod }) => rpcMethod);
  expect(sent).toEqual(["tools/call"]);
  expect([ran(), sessions()]).toEqual([["tea", "milk"], 1]);
});

test.each(names)("%s is told that a question cannot be asked, and goes on", async (name) => {
  const { server, connect, ran } = await start(name, true);
  server.ask("order", [{ sure: { message: "Sure?", form: { yes: { type: "boolean" } } } }]);
  const { call } = await connect();
  const begun = performance.now();
  // OpenAI Agents has the error's text as a result.
  expect(await call("tea")).toBe(name === "openai-agents" ? "answered" : "failed");
  expect(performance.now() - begun).toBeLessThan(10_000);
  server.ask("order", []);
  expect(await call("milk")).toBe("answered");
  expect(ran()).toEqual(["milk"]);
});

/** Longer than the time limit of the official clients, 60 s. */
const slowMs = 65_000;
const limited = new Set(["adk", "genkit", "strands", "tanstack-ai"]);

test("those with an option for the time limit get a slow answer, and the others send nothing twice", async () => {
  const ends = await Promise.all(
    names.map(async (name) => {
      const { server, connect } = await start(name, true);
      const { call } = await connect();
      const end = await call("tea", "slow");
      const sent = server.requests.filter(({ rpcMethod }) => rpcMethod === "tools/call");
      return [name, end, sent.length];
    }),
  );
  expect(ends).toEqual(names.map((name) => [name, limited.has(name) ? "failed" : "answered", 1]));
});

test.each(["@zuplo/mcp", "@rekog/mcp-nest"])(
  "%s forgets its session, and the step's call is answered",
  async (name) => {
    const servers = await frameworkServers();
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
