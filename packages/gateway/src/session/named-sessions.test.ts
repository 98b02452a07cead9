import { createFaultyServer } from "@durable-mcp/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { connectClient2, connectSdk1, textOf } from "../../test/clients.ts";
import {
  begin,
  enter,
  get,
  messagesOf,
  post,
  readEvents,
  request,
  toolCall,
} from "../../test/raw-client.ts";
import { startOwnServer } from "../../test/own-server.ts";
import { serveGateway } from "../../test/serve-gateway.ts";

async function startCounter(options: Partial<Parameters<typeof createFaultyServer>[0]> = {}) {
  const server = await createFaultyServer({
    era: "2025-11-25",
    tools: {
      count(_, { session }) {
        session["count"] = Number(session["count"] ?? 0) + 1;
        return `count ${session["count"]}`;
      },
      echo: { inputSchema: {}, run: (args) => JSON.stringify(args) },
    },
    ...options,
  });
  onTestFinished(() => server.close());
  const initializes = () =>
    server.requests.filter(({ rpcMethod }) => rpcMethod === "initialize").length;
  return { server, initializes };
}

const count = { name: "count", arguments: {} };
const forgotten = "had forgotten this session";

describe.each([
  ["@modelcontextprotocol/sdk 1", connectSdk1],
  ["@modelcontextprotocol/client 2", connectClient2],
])("%s", (_, connect) => {
  test("goes on in the session of the client before it under the same name", async () => {
    const { server, initializes } = await startCounter();
    const { url } = await serveGateway(server.url);
    const first = await connect(`${url}@work`);
    expect(textOf(await first.callTool(count))).toBe("count 1");
    await first.close();
    const second = await connect(`${url}@work`);
    expect(textOf(await second.callTool(count))).toBe("count 2");
    expect(initializes()).toBe(1);
    const other = await connect(`${url}@play`);
    expect(textOf(await other.callTool(count))).toBe("count 1");
  });
});

test("a DELETE ends the client's part; `end` ends the session, and the next client begins another", async () => {
  const { server, initializes } = await startCounter();
  const { gateway, url } = await serveGateway(server.url);
  const [ann, ben] = [await enter(`${url}@work`), await enter(`${url}@work`)];
  expect(await ann.call()).toContain("count 1");
  expect((await ann.end()).status).toBe(204);
  expect(await ann.call()).toBe("HTTP 404");
  expect(await ben.call()).toContain("count 2");
  expect(server.requests.some(({ httpMethod }) => httpMethod === "DELETE")).toBe(false);
  expect((await gateway.list()).sessions).toMatchObject([{ sessionId: "@work" }]);
  expect(await gateway.end("@work")).toMatchObject([{ ended: true }]);
  const next = await enter(`${url}@work`);
  expect(await next.call()).toContain("count 1");
  expect(initializes()).toBe(2);
});

test("another principal's session of that name is another", async () => {
  const { server } = await startCounter();
  const { url } = await serveGateway(server.url);
  const ann = await enter(`${url}@work`);
  expect(await ann.call()).toContain("count 1");
  const bob = await enter(`${url}@work`, { token: "bob" });
  expect(await bob.call()).toContain("count 1");
  const { session } = ann;
  expect((await post(`${url}@work`, toolCall(9, "count"), { session, token: "bob" })).status).toBe(
    404,
  );
  expect((await post(url, toolCall(9, "count"), { session })).status).toBe(404);
  expect((await post(`${url}@play`, toolCall(9, "count"), { session })).status).toBe(404);
});

test("each client is told once that the server forgot, also one that comes later or through another process", async () => {
  const { server } = await startCounter();
  const { url, store } = await serveGateway(server.url);
  const other = await serveGateway(server.url, { store });
  const [ann, ben] = [await enter(`${url}@work`), await enter(`${url}@work`)];
  expect(await ann.call()).not.toContain(forgotten);
  server.forgetSessions();
  const resumed = await enter(`${url}@work`);
  expect(await ann.call()).toContain(forgotten);
  expect(await ann.call()).not.toContain(forgotten);
  expect(await ann.call("count", {}, `${other.url}@work`)).not.toContain(forgotten);
  expect(await ben.call("count", {}, `${other.url}@work`)).toContain(forgotten);
  expect(await ben.call()).not.toContain(forgotten);
  expect(await resumed.call()).toContain(forgotten);
  expect(await resumed.call()).toContain("count 7");
});

test("two at once under one name: nothing is crossed, one dies, the server restarts, each is told once", async () => {
  const { server, initializes } = await startCounter();
  const { url, store } = await serveGateway(server.url);
  const other = await serveGateway(server.url, { store });
  const [ann, ben] = await Promise.all([enter(`${url}@work`), enter(`${url}@work`)]);
  let told = [0, 0];
  const work = async (who: 0 | 1, calls: number, from = 0) => {
    const client = [ann, ben][who]!;
    for (let n = from; n < from + calls; n += 1) {
      const at = n % 2 ? `${url}@work` : `${other.url}@work`;
      const result = await client.call("echo", { who, n }, at);
      if (result.includes(forgotten)) told[who]! += 1;
      expect(JSON.parse(result).content[0].text).toBe(JSON.stringify({ who, n }));
    }
  };
  await Promise.all([work(0, 50), work(1, 50)]);
  expect(initializes()).toBe(1);
  server.forgetSessions();
  await Promise.all([work(0, 50, 50), work(1, 50, 50)]);
  expect(told).toEqual([1, 1]);
  expect(initializes()).toBeLessThanOrEqual(3);
  const dying = new AbortController();
  const headers = { authorization: "Bearer ann", "mcp-session-id": ben.session };
  const body = JSON.stringify(toolCall(1_000, "echo", {}));
  const dead = fetch(`${url}@work`, { method: "POST", headers, body, signal: dying.signal });
  dying.abort();
  await dead.catch(() => undefined);
  await work(0, 20, 100);
  expect(told).toEqual([1, 1]);
});

test("an older client than the session is refused, one without sessions is led to initialize", async () => {
  const { server } = await startCounter();
  const { url } = await serveGateway(server.url);
  await expect(begin(`${url}@work`, { protocolVersion: "2025-03-26" })).rejects.toThrow(
    /400.*2025-06-18/,
  );
  const meta = { "io.modelcontextprotocol/protocolVersion": "2026-07-28" };
  const probe = await post(`${url}@work`, request(1, "server/discover", { _meta: meta }));
  expect(await probe.json()).toMatchObject({ error: { code: -32_601 } });
  const call = await post(`${url}@work`, toolCall(1, "count", {}, meta));
  expect(await call.json()).toMatchObject({ error: { code: -32_022 } });
  expect((await post(`${url}@no/name`, toolCall(1, "count"))).status).toBe(404);
  for (const wrong of ["", "caf%C3%A9", "a@b", "x".repeat(101)]) {
    const refused = await post(`${url}@${wrong}`, toolCall(1, "count"));
    expect([refused.status, await refused.text()]).toEqual([
      404,
      expect.stringContaining("A name"),
    ]);
  }
});

test("the server's session has the words of the definition, whoever comes first", async () => {
  const { server } = await startCounter();
  const connection = { client: { name: "operator", version: "2" }, capabilities: { roots: {} } };
  const { url } = await serveGateway(server.url, { connection });
  await begin(`${url}@work`, { capabilities: { sampling: {} } });
  const { message } = server.requests.find(({ rpcMethod }) => rpcMethod === "initialize")!;
  expect(message).toMatchObject({
    params: { clientInfo: { name: "operator" }, capabilities: { roots: {} } },
  });
  expect(JSON.stringify(message)).not.toContain("sampling");
});

test("a name has room for 200 clients at once", async () => {
  const { server, initializes } = await startCounter();
  const { url } = await serveGateway(server.url);
  const first = await enter(`${url}@work`);
  for (let n = 1; n < 200; n += 1) await begin(`${url}@work`);
  await expect(begin(`${url}@work`)).rejects.toThrow(/429.*200 clients/);
  await first.end();
  const next = await enter(`${url}@work`);
  expect(await next.call()).toContain("count 1");
  expect(initializes()).toBe(1);
});

test("the server's news reach each client that listens, over one stream", async () => {
  const { server } = await startCounter();
  const { url } = await serveGateway(server.url);
  const [ann, ben] = [await enter(`${url}@work`), await enter(`${url}@work`)];
  const streams = await Promise.all(
    [ann, ben].map(async ({ session }) => readEvents(await get(`${url}@work`, { session }))),
  );
  server.setTools({ other: () => "other" });
  for (const stream of streams)
    expect((await stream.next())!.message).toMatchObject({
      method: "notifications/tools/list_changed",
    });
  expect(server.requests.filter(({ httpMethod }) => httpMethod === "GET")).toHaveLength(1);
  await streams[0]!.leave();
});

const accept = (id: unknown) => ({
  ...{ jsonrpc: "2.0", id },
  result: { action: "accept", content: { size: "M" } },
});

describe("what the server asks", () => {
  const connection = { capabilities: { elicitation: {} } };
  test("goes to the client of the call", async () => {
    const server = await startOwnServer();
    const { url } = await serveGateway(server.url, { connection });
    const at = `${url}@work`;
    const [ann, ben] = [await enter(at), await enter(at)];
    const bens = readEvents(await get(at, ben));
    const { session } = ann;
    const events = readEvents(await post(at, toolCall(1, "ask"), { session }));
    await events.next();
    const { message } = (await events.next())!;
    expect(message).toMatchObject({ method: "elicitation/create" });
    await post(at, accept(message.id), { session });
    expect((await events.rest()).at(-1)!.message.result.content[0].text).toBe("size M");
    await bens.leave();
  });

  /** A client of so many calls it, and all listen. */
  async function askAnyone(many: number) {
    const server = await startOwnServer();
    const { url } = await serveGateway(server.url, { connection });
    const at = `${url}@work`;
    const clients = [];
    for (let n = 0; n < many; n += 1) clients.push(await enter(at));
    const streams = [];
    for (const { session } of clients) streams.push(readEvents(await get(at, { session })));
    const { session } = clients[0]!;
    return { at, session, streams, call: post(at, toolCall(1, "ask-anyone"), { session }) };
  }

  test("goes to a client that is alone", async () => {
    const { at, session, streams, call } = await askAnyone(1);
    const { message } = (await streams[0]!.next())!;
    expect(message).toMatchObject({ method: "elicitation/create" });
    await post(at, accept(message.id), { session });
    expect((await messagesOf(await call)).at(-1).result.content[0].text).toBe("accept");
    await streams[0]!.leave();
  });

  test("goes to none of several outside of a call", async () => {
    const { streams, call } = await askAnyone(2);
    expect((await messagesOf(await call)).at(-1).result.content[0].text).toBe("decline");
    for (const stream of streams) await stream.leave();
  });
});
