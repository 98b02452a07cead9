import { createFaultyProxy, createFaultyServer } from "@durable-mcp/testing";
import { expect, onTestFinished, test } from "vitest";
import { startOwnServer } from "../../test/own-server.ts";
import {
  begin,
  get,
  messagesOf,
  post,
  readEvents,
  request,
  toolCall,
} from "../../test/raw-client.ts";
import { serveGateway } from "../../test/serve-gateway.ts";

const token = (progressToken: string | number) => ({ progressToken });
const done = (key: string) => ({ content: [{ type: "text", text: `${key} done` }] });
const progressOf = (progressToken: string | number, progress: number) => ({
  jsonrpc: "2.0",
  ...{ method: "notifications/progress", params: { progressToken, progress } },
});

/** A server whose streams have no event ids. Its tool `work` waits until the test lets it go on. */
async function startServerWithoutIds() {
  const going = Promise.withResolvers<void>();
  let calls = 0;
  const server = await createFaultyServer({
    era: "2025-11-25",
    tools: {
      async work() {
        calls += 1;
        await going.promise;
        return "work done";
      },
    },
  });
  onTestFinished(() => {
    going.resolve();
    return server.close();
  });
  return { url: server.url, server, go: () => going.resolve(), calls: () => calls };
}

test("a call's stream begins with an event id, and ids and tokens of the client come back", async () => {
  const server = await startOwnServer();
  const { url } = await serveGateway(server.url);
  const session = await begin(url);
  for (const id of [7, "seven", 'ä"%', 0]) {
    const call = toolCall(id, "work", { key: "a" }, token(`t-${id}`));
    const events = readEvents(await post(url, call, { session }));
    expect(await events.next()).toMatchObject({ id: expect.any(String), message: undefined });
    server.go("a");
    const [progress, ...others] = (await events.rest()).filter(({ message }) => message);
    expect(progress?.message).toEqual(progressOf(`t-${id}`, 1));
    expect(others.at(-1)?.message).toEqual({ jsonrpc: "2.0", id, result: done("a") });
  }
});

test("another process brings the rest of a stream from the server, each message once", async () => {
  const server = await startOwnServer();
  const { url, store } = await serveGateway(server.url);
  const session = await begin(url);
  const events = readEvents(
    await post(url, toolCall(1, "work", { key: "k" }, token(5)), { session }),
  );
  const first = await events.next();
  let lastEventId = first!.id;
  for (let event = first; event?.message === undefined; event = await events.next())
    lastEventId = event?.id ?? lastEventId;
  await events.leave();
  const other = await serveGateway(server.url, { store });
  const resumed = readEvents(await get(other.url, { session, lastEventId: lastEventId! }));
  server.go("k");
  const messages = (await resumed.rest()).flatMap(({ message }) => message ?? []);
  expect(messages.at(-1)).toEqual({ jsonrpc: "2.0", id: 1, result: done("k") });
  expect(messages.filter(({ id }) => id === 1)).toHaveLength(1);
  expect(messages).toContainEqual(progressOf(5, 2));
  expect(server.done).toBe(1);
});

test.each([503, 409])(
  "another process brings the rest of a stream from a server that first answers %d",
  async (status) => {
    const server = await startOwnServer();
    const proxy = await createFaultyProxy({ target: server.url });
    onTestFinished(() => proxy.close());
    const { url, store } = await serveGateway(proxy.url);
    const session = await begin(url);
    const call = toolCall(1, "work", { key: "k" }, token(5));
    const events = readEvents(await post(url, call, { session }));
    let lastEventId = "";
    for (let event = await events.next(); event; event = await events.next()) {
      lastEventId = event.id ?? lastEventId;
      if (event.message) break;
    }
    await events.leave();
    const other = await serveGateway(proxy.url, { store });
    proxy.refuse(status, { on: "GET", times: 2 });
    const resumed = readEvents(await get(other.url, { session, lastEventId }));
    server.go("k");
    const messages = (await resumed.rest()).flatMap(({ message }) => message ?? []);
    expect(messages.at(-1)).toEqual({ jsonrpc: "2.0", id: 1, result: done("k") });
  },
);

test("a client that comes back to the same process gets the answer of a server without event ids", async () => {
  const server = await startServerWithoutIds();
  const { url } = await serveGateway(server.url);
  const session = await begin(url);
  const events = readEvents(await post(url, toolCall(1, "work"), { session }));
  const { id } = (await events.next())!;
  await events.leave();
  const resumed = readEvents(await get(url, { session, lastEventId: id! }));
  server.go();
  const messages = (await resumed.rest()).flatMap(({ message }) => message ?? []);
  expect(messages).toMatchObject([{ id: 1, result: { content: [{ text: "work done" }] } }]);
  expect(server.calls()).toBe(1);
});

test("another process waits for the one that holds the call", async () => {
  const server = await startServerWithoutIds();
  const { url, store } = await serveGateway(server.url);
  const session = await begin(url);
  const events = readEvents(await post(url, toolCall("one", "work"), { session }));
  const { id } = (await events.next())!;
  await events.leave();
  const other = await serveGateway(server.url, { store });
  const resumed = readEvents(await get(other.url, { session, lastEventId: id! }));
  setTimeout(server.go, 2_500);
  const messages = (await resumed.rest()).flatMap(({ message }) => message ?? []);
  expect(messages).toMatchObject([{ id: "one", result: { content: [{ text: "work done" }] } }]);
});

test("without the process that held a call, its outcome is unknown within two seconds", async () => {
  const server = await startServerWithoutIds();
  const { url, store } = await serveGateway(server.url);
  const session = await begin(url);
  const { id } = (await readEvents(await post(url, toolCall(1, "work"), { session })).next())!;
  const other = await serveGateway(server.url, { store });
  const begun = performance.now();
  const resumed = readEvents(await get(other.url, { session, lastEventId: id! }));
  const [answer] = (await resumed.rest()).flatMap(({ message }) => message ?? []);
  expect(performance.now() - begun).toBeLessThan(2_500);
  expect(answer).toMatchObject({ id: 1, result: { isError: true } });
  expect(answer.result.content[0].text).toContain("whether the call was carried out is unknown");
  expect(server.calls()).toBe(1);
});

test("a cancellation through another process stops the server", async () => {
  const server = await startOwnServer();
  const { url, store } = await serveGateway(server.url);
  const session = await begin(url);
  const events = readEvents(await post(url, toolCall(3, "work", { key: "c" }), { session }));
  await events.next();
  const other = await serveGateway(server.url, { store });
  const params = { requestId: 3, reason: "enough" };
  const cancel = { jsonrpc: "2.0", method: "notifications/cancelled", params };
  await expect
    .poll(async () => {
      expect((await post(other.url, cancel, { session })).status).toBe(202);
      return server.cancelled;
    })
    .toContain("c");
});

test("two clients with equal ids get their own answers", async () => {
  const server = await startOwnServer();
  const { url } = await serveGateway(server.url);
  const sessions = await Promise.all([begin(url), begin(url)]);
  const keys = ["a", "b"];
  const streams = await Promise.all(
    sessions.map(async (session, at) =>
      readEvents(await post(url, toolCall(1, "work", { key: keys[at] }), { session })),
    ),
  );
  for (const key of keys.toReversed()) server.go(key);
  for (const [at, events] of streams.entries())
    expect((await events.rest()).at(-1)?.message).toMatchObject({ result: done(keys[at]!) });
});

test("a call that the server breaks off is a result with isError, and other requests are errors", async () => {
  const server = await startServerWithoutIds();
  const { url } = await serveGateway(server.url);
  const session = await begin(url);
  server.server.reset({ on: "*" });
  const [answer] = await messagesOf(await post(url, toolCall(1, "work"), { session }));
  expect(answer).toMatchObject({ id: 1, result: { isError: true } });
  const list = await (await post(url, request(2, "prompts/list"), { session })).text();
  expect(list).toContain('"error"');
  for (const text of [JSON.stringify(answer), list])
    expect(text).not.toMatch(/ECONN|socket|UND_ERR/i);
});

test("a stream that brings a client back begins with an id, so that it comes back again", async () => {
  const server = await startServerWithoutIds();
  const { url, store } = await serveGateway(server.url);
  const session = await begin(url);
  const { id } = (await readEvents(await post(url, toolCall(1, "work"), { session })).next())!;
  const other = await serveGateway(server.url, { store });
  for (const each of [other.url, url]) {
    const resumed = readEvents(await get(each, { session, lastEventId: id! }));
    expect(await resumed.next()).toEqual({ id, message: undefined });
  }
});

test("a known client of an earlier revision gets the id in an event with a name: it reads the data of all others", async () => {
  const server = await startServerWithoutIds();
  const { url } = await serveGateway(server.url);
  const clientInfo = { name: "gemini-cli-mcp-client", version: "0.61.0" };
  const session = await begin(url, { protocolVersion: "2025-06-18", clientInfo });
  const response = await post(url, toolCall(1, "work"), { session });
  server.go();
  expect(await response.text()).toMatch(/^event: priming\nid: \S+\ndata: \n\nevent: message\n/);
  const other = await begin(url, { protocolVersion: "2025-06-18" });
  const plain = await (await post(url, toolCall(1, "work"), { session: other })).text();
  expect(plain).not.toContain("id: ");
});

test.each([
  ["2025-11-25", "unchanged"],
  ["2025-06-18", "codex-mcp-client"],
])(
  "a call of %s by %s has its event id in a process that loads a lost session, and goes on with it in another",
  async (protocolVersion, name) => {
    const { url: target, server, go, calls } = await startServerWithoutIds();
    const one = await serveGateway(target);
    const clientInfo = { name, version: "1.0.0" };
    const session = await begin(one.url, { protocolVersion, clientInfo });
    server.forgetSessions();
    const refusal = server.refuse(500, { on: "initialize" });
    const [lost] = await messagesOf(await post(one.url, toolCall(1, "work"), { session }));
    expect(lost.result.content[0].text).toContain("forgotten");
    refusal.heal();
    const { store } = one;
    await one.gateway.shutdown();
    const two = await serveGateway(target, { store });
    // Not even headers come before the answer.
    const answer = server.holdAnswer({ on: "work" });
    const events = readEvents(await post(two.url, toolCall(2, "work"), { session }));
    const { id } = (await events.next())!;
    expect(id).toEqual(expect.any(String));
    answer.release();
    await events.leave();
    const three = await serveGateway(target, { store });
    const resumed = readEvents(await get(three.url, { session, lastEventId: id! }));
    await expect.poll(calls).toBe(1);
    go();
    const messages = (await resumed.rest()).flatMap(({ message }) => message ?? []);
    expect(messages).toMatchObject([{ id: 2, result: { content: [{ text: "work done" }, {}] } }]);
    const begun = server.requests.findLast(({ rpcMethod }) => rpcMethod === "initialize");
    expect(begun?.message).toMatchObject({ params: { protocolVersion, clientInfo } });
  },
);
