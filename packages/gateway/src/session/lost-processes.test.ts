import { createMemoryStore } from "@durable-mcp/core";
import { createFaultyServer, createFaultyStore } from "@durable-mcp/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { begin, messagesOf, post, toolCall } from "../../test/raw-client.ts";
import { connectClient2, connectSdk1, textOf } from "../../test/clients.ts";
import { serveGateway } from "../../test/serve-gateway.ts";

async function startCounter(era: "2025-11-25" | "both" = "2025-11-25") {
  const server = await createFaultyServer({
    era,
    tools: {
      count(_, { session }) {
        session["count"] = Number(session["count"] ?? 0) + 1;
        return `count ${session["count"]}`;
      },
    },
  });
  onTestFinished(() => server.close());
  return server;
}

const count = { name: "count", arguments: {} };

describe.each([
  ["@modelcontextprotocol/sdk 1", connectSdk1],
  ["@modelcontextprotocol/client 2", connectClient2],
])("%s", (_, connect) => {
  test("goes on in its session when the gateway's process is another", async () => {
    const server = await startCounter();
    const { url, store, kill, port } = await serveGateway(server.url);
    const client = await connect(url);
    expect(textOf(await client.callTool(count))).toBe("count 1");
    await kill();
    await serveGateway(server.url, { store, port });
    expect(textOf(await client.callTool(count))).toBe("count 2");
  });

  test("goes on in a new session when the server has forgotten, and reads so once", async () => {
    const server = await startCounter();
    const { url } = await serveGateway(server.url);
    const client = await connect(url);
    await client.callTool(count);
    server.forgetSessions();
    const after = await client.callTool(count);
    expect(textOf(after)).toBe("count 1");
    expect(JSON.stringify(after)).toContain("had forgotten this session");
    expect(JSON.stringify(await client.callTool(count))).not.toContain("forgotten");
  });
});

test("a call while the server restarts waits until it takes connections, and is carried out once", async () => {
  const server = await startCounter();
  const { url } = await serveGateway(server.url);
  const session = await begin(url);
  const call = async (id: number) =>
    textOf((await messagesOf(await post(url, toolCall(id, "count"), { session })))[0].result);
  await call(1);
  await server.down();
  setTimeout(() => void server.up(), 1_500);
  expect(await call(2)).toBe("count 2");
  expect(await call(3)).toBe("count 3");
});

test("a session that was ended elsewhere is not begun again behind its client", async () => {
  const server = await startCounter();
  const { url, store, gateway } = await serveGateway(server.url);
  const other = await serveGateway(server.url, { store });
  const session = await begin(url);
  await post(other.url, toolCall(1, "count"), { session });
  const { sessions } = await gateway.list();
  expect(sessions).toHaveLength(1);
  expect(await gateway.end(sessions[0]!.sessionId!)).toMatchObject([{ ended: true }]);
  server.forgetSessions();
  for (const each of [url, other.url])
    expect((await post(each, toolCall(2, "count"), { session })).status).toBe(404);
  expect((await store.list({ limit: 10 })).records).toHaveLength(0);
  expect(server.requests.filter(({ rpcMethod }) => rpcMethod === "initialize").length).toBeLessThan(
    4,
  );
});

test("after a restart of the server its clients make one session each, over all processes", async () => {
  const server = await startCounter();
  const { url, store } = await serveGateway(server.url);
  const other = await serveGateway(server.url, { store });
  const session = await begin(url);
  for (const each of [url, other.url]) await post(each, toolCall(1, "count"), { session });
  server.forgetSessions();
  const before = server.requests.length;
  const answers = [];
  for (const each of [url, other.url, url])
    answers.push(...(await messagesOf(await post(each, toolCall(2, "count"), { session }))));
  expect(answers.map(({ result }) => result.content[0].text)).toEqual([
    "count 1",
    "count 2",
    "count 3",
  ]);
  const sent = server.requests.slice(before);
  expect(sent.filter(({ rpcMethod }) => rpcMethod === "initialize")).toHaveLength(1);
});

test("a process that has missed a session of another begins one when the server has forgotten both", async () => {
  const server = await startCounter();
  const { url, store } = await serveGateway(server.url);
  const other = await serveGateway(server.url, { store });
  const session = await begin(url);
  const call = async (at: string, id: number) =>
    (await messagesOf(await post(at, toolCall(id, "count"), { session })))[0].result;
  await call(other.url, 1);
  server.forgetSessions();
  expect(textOf(await call(url, 2))).toBe("count 1");
  server.forgetSessions();
  const after = await call(other.url, 3);
  expect(textOf(after)).toBe("count 1");
  expect(JSON.stringify(after)).toContain("had forgotten this session");
  expect(textOf(await call(url, 4))).toBe("count 2");
});

test("what the model has read is not said again by another process, however slow the store is", async () => {
  const server = await startCounter();
  const faulty = createFaultyStore(createMemoryStore());
  faulty.before("put", () => new Promise((resolve) => void setTimeout(resolve, 200)));
  const { store } = faulty;
  const { url } = await serveGateway(server.url, { store });
  const other = await serveGateway(server.url, { store });
  const session = await begin(url);
  const call = async (at: string, id: number) =>
    JSON.stringify(await messagesOf(await post(at, toolCall(id, "count"), { session })));
  await call(url, 1);
  server.forgetSessions();
  expect(await call(url, 2)).toContain("had forgotten");
  const again = await call(other.url, 3);
  expect(again).toContain("count 2");
  expect(again).not.toContain("had forgotten");
});

test("a session that nobody uses leaves the process, with its answers, and goes on from the store", async () => {
  const server = await startCounter();
  const store = createMemoryStore();
  let [reads, shift] = [0, 0];
  const counted = {
    ...store,
    get: async (key: string) => {
      reads += 1;
      return await store.get(key);
    },
  };
  const now = () => Date.now() + shift;
  const { url } = await serveGateway(server.url, { store: counted, now, idleMs: 50 });
  const session = await begin(url);
  await messagesOf(await post(url, toolCall(1, "count"), { session }));
  shift = 60_000;
  await new Promise((resolve) => {
    setTimeout(resolve, 300);
  });
  reads = 0;
  const [answer] = await messagesOf(await post(url, toolCall(2, "count"), { session }));
  expect(answer.result.content[0].text).toBe("count 2");
  expect(reads).toBeGreaterThan(0);
});
