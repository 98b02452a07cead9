import { createMemoryStore } from "@durable-mcp/core";
import {
  InitializeRequestSchema,
  SubscribeRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { expect, test } from "vitest";
import { createFaultyStore } from "@durable-mcp/testing";
import {
  initializeRequest,
  readMessages,
  takeEventId,
  takeEvents,
  whenListening,
} from "../../test/raw-client.ts";
import { createReplicas, startSession, startTwo } from "../../test/replicas.ts";
import { createNotesServer } from "../../test/notes-server.ts";
import type { SessionTimeouts } from "../index.ts";

/** A handler whose clock the test sets; its store has the same. */
function startWithClock(timeouts: SessionTimeouts) {
  const clock = { now: 1_000_000 };
  const now = () => clock.now;
  const { start, lines } = createReplicas({ now, timeouts });
  return { clock, lines, ...start({ store: createMemoryStore({ now }) }) };
}

test("a session ends when it was idle for too long, not when it was used", async () => {
  const { clock, client } = startWithClock({ idleMs: 1_000 });
  const id = await client.initialize();
  for (let n = 0; n < 5; n++) {
    clock.now += 900;
    expect(await client.call(id, "list")).toMatchObject({ status: 200 });
  }
  clock.now += 1_001;
  expect(await client.call(id, "list")).toMatchObject({ status: 404 });
});

test("a session ends at its absolute age however much it is used", async () => {
  const { clock, client } = startWithClock({ absoluteMs: 2_000 });
  const id = await client.initialize();
  clock.now += 1_500;
  expect(await client.call(id, "list")).toMatchObject({ status: 200 });
  clock.now += 501;
  expect(await client.call(id, "list")).toMatchObject({ status: 404 });
});

test("sweep closes the servers of sessions that are over", async () => {
  const { clock, client, handler, lines } = startWithClock({ idleMs: 1_000 });
  await client.initialize();
  clock.now += 600;
  const used = await client.initialize();
  clock.now += 600;
  expect(await handler.sweep()).toBe(1);
  expect(lines.filter((line) => line === "closed")).toHaveLength(1);
  expect(handler.liveSessions).toBe(1);
  expect(await client.call(used, "list")).toMatchObject({ status: 200 });
});

const wait = (id: number, ms: number) => ({
  id,
  method: "tools/call",
  params: { name: "wait", arguments: { ms } },
});

test("drain finishes calls in flight, refuses new sessions, and leaves the rest to others", async () => {
  const { one, two, id } = await startTwo();
  await one.client.call(id, "add", { text: "a" });
  const call = await one.client.post(id, wait(7, 150));
  const listening = await one.client.get(id);

  const drained = one.handler.drain();
  const refused = await one.client.post(undefined, initializeRequest);
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "1"]);
  expect((await one.client.get(id)).status).toBe(503);
  // Sessions that are there go on until the end.
  expect(await one.client.call(id, "list")).toMatchObject({ text: "a" });
  await listening.text();
  const messages = await readMessages(call);
  expect(messages.at(-1)?.message.result?.content?.[0]?.text).toBe("waited");
  await drained;
  expect(one.handler.liveSessions).toBe(0);
  expect(await one.client.call(id, "list")).toMatchObject({ status: 503 });
  expect(await two.client.call(id, "list")).toMatchObject({ text: "a" });
});

test.each(["sse", "json"] as const)(
  "a call that outlasts the drain is told that its outcome is unknown (%s)",
  async (responseFormat) => {
    const { client, handler, id } = await startSession({ responseFormat });
    const call = client.call(id, "hang", {}, "hanging");
    await client.whenInFlight(id, "hanging");
    await handler.drain({ timeoutMs: 50 });
    expect((await call).error?.data?.code).toBe("OUTCOME_UNKNOWN");
  },
);

test("a store that cannot be reached is 503 and an event, not a lost session", async () => {
  const { store, ...control } = createFaultyStore(createMemoryStore());
  const { client, id, events } = await startSession({ store });
  control.fail("get", "put", "batch");
  expect(await client.call(id, "list")).toMatchObject({ status: 503 });
  control.heal();
  const call = client.call(id, "add_slowly", { text: "a", ms: 1_000 }, "slow");
  await client.whenInFlight(id, "slow");
  control.fail("get", "put", "batch");
  // Nothing may be acknowledged that is not stored.
  expect((await call).error?.data?.code).toBe("STORE_FAILED");
  control.heal();
  expect(await client.call(id, "list")).toMatchObject({ status: 200 });
  expect(events.map(({ type }) => type)).toContain("store-failed");
});

test("a server that negotiates otherwise than before is not put in its place", async () => {
  const replicas = createReplicas();
  const one = replicas.start();
  const id = await one.client.initialize();
  const other = replicas.start({
    createServer: ({ session }) => {
      const mcp = createNotesServer(session);
      mcp.server.setRequestHandler(InitializeRequestSchema, () => ({
        protocolVersion: "2024-11-05",
        capabilities: {},
        serverInfo: { name: "older", version: "1" },
      }));
      return mcp;
    },
  });
  expect(await other.client.call(id, "list")).toMatchObject({ status: 404 });
  expect(replicas.events.map(({ type }) => type)).toContain("restore-failed");
});

test("drain waits for the answer to initialize, whose headers are out before it is stored", async () => {
  const store = createMemoryStore();
  const { client, handler } = createReplicas().start({
    store: {
      ...store,
      put: async (...args) => {
        await new Promise((resolve) => setTimeout(resolve, 50));
        return await store.put(...args);
      },
    },
  });
  const response = await client.post(undefined, initializeRequest);
  const drained = handler.drain();
  const [answer] = await readMessages(response);
  expect(answer?.message.result).toBeDefined();
  await drained;
});

test("a listening stream gets a message after a silence longer than the idle time-out", async () => {
  const { clock, client } = startWithClock({ idleMs: 1_000 });
  const id = await client.initialize();
  const [one, two] = (await whenListening(await client.get(id))).body!.tee();
  const first = takeEvents(new Response(one), 1);
  const both = takeEvents(new Response(two), 2);
  await client.call(id, "announce");
  await first;
  for (let n = 0; n < 3; n++) {
    clock.now += 900;
    expect(await client.call(id, "list")).toMatchObject({ status: 200 });
  }
  await client.call(id, "announce");
  expect(new Set((await both).map(({ eventId }) => eventId)).size).toBe(2);
});

// As after a failover to a copy that was behind; it was tried again for ever.
test("a store that lost its last writes is a conflict, not a call that never ends", async () => {
  const store = createMemoryStore();
  const { client: ours } = createReplicas().start({ store });
  const id = await ours.initialize();
  await ours.call(id, "add", { text: "a" });
  const { records } = await store.list({ limit: 100 });
  const { key, value, owner } = records.find((record) => record.key.includes('"session"'))!;
  await ours.call(id, "add", { text: "b" });
  await store.delete(key);
  await store.put(key, value, null, { owner });
  expect((await ours.call(id, "add", { text: "c" })).error?.data?.code).toBe("STATE_CONFLICT");
  expect(await ours.call(id, "add", { text: "c" })).toMatchObject({ text: "2 notes" });
});

test("drain does not wait for ever for a server that is never built", async () => {
  const replicas = createReplicas();
  const id = await replicas.start().client.initialize();
  const { promise: asked, resolve: ask } = Promise.withResolvers<void>();
  const { client, handler } = replicas.start({
    createServer: () => {
      ask();
      return new Promise(() => {});
    },
  });
  void client.call(id, "list");
  await asked;
  await expect(handler.drain({ timeoutMs: 20 })).resolves.toBeUndefined();
});

// Both run where nobody awaits them (a timer, a signal): a rejection would end the process.
test("sweep and drain survive a store that cannot be reached", async () => {
  const { store, ...control } = createFaultyStore(createMemoryStore());
  const { handler, events } = await startSession({ store });
  control.fail("get", "delete");
  expect(await handler.sweep()).toBe(0);
  expect(handler.liveSessions).toBe(1);
  await handler.drain();
  expect(events).toContainEqual(expect.objectContaining({ type: "store-failed" }));
});

test("a second drain does not open a handler again", async () => {
  const { handler, client, id } = await startSession({
    principal: (request) =>
      request.headers.has("x-hang") ? new Promise(() => {}) : { type: "anonymous" },
  });
  void client.post(id, { id: 1, method: "ping" }, { "x-hang": "yes" });
  await handler.drain({ timeoutMs: 20 });
  const again = handler.drain({ timeoutMs: 20 });
  expect(await client.call(id, "list")).toMatchObject({ status: 503 });
  await again;
});

test("a request whose server comes after the drain may be sent again: 503, not a lost session", async () => {
  const replicas = createReplicas();
  const one = replicas.start();
  const id = await one.client.initialize();
  const { promise: built, resolve: build } = Promise.withResolvers<void>();
  const { client, handler } = replicas.start({
    createServer: async ({ session }) => {
      await built;
      return createNotesServer(session);
    },
  });
  const answers = [client.call(id, "list"), client.post(undefined, initializeRequest)];
  await handler.drain({ timeoutMs: 20 });
  build();
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([503, 503]);
  expect(await one.client.call(id, "list")).toMatchObject({ status: 200 });
});

test("a request that finds its session after the drain may be sent again, and no server is left", async () => {
  const app = { type: "app" } as const;
  const replicas = createReplicas({ principal: () => app });
  const id = await replicas.start().client.initialize();
  const { promise: known, resolve: tell } = Promise.withResolvers<void>();
  const { client, handler } = replicas.start({
    principal: async () => {
      await known;
      return app;
    },
  });
  const answer = client.call(id, "list");
  await handler.drain({ timeoutMs: 1 });
  tell();
  expect(await answer).toMatchObject({ status: 503 });
  expect(handler.liveSessions).toBe(0);
});

test("a session that ends while its subscriptions are restored leaves no request waiting", async () => {
  const replicas = createReplicas();
  const one = replicas.start();
  const id = await one.client.initialize();
  const params = { uri: "a://b" };
  await readMessages(await one.client.post(id, { id: 5, method: "resources/subscribe", params }));
  const { promise: subscribing, resolve: subscribe } = Promise.withResolvers<void>();
  const { client } = replicas.start({
    createServer: ({ session }) => {
      const mcp = createNotesServer(session);
      mcp.server.setRequestHandler(SubscribeRequestSchema, () => {
        subscribe();
        return new Promise(() => {});
      });
      return mcp;
    },
  });
  const call = client.call(id, "list");
  await subscribing;
  await client.end(id);
  expect(await call).toMatchObject({ status: 404 });
});

test("a client that comes back for an answer that could not be stored does not wait for it", async () => {
  const { store, ...control } = createFaultyStore(createMemoryStore());
  const { client, id } = await startSession({ store });
  const first = await takeEventId(await client.post(id, wait(7, 50)));
  control.fail("put", "batch");
  await new Promise((resolve) => setTimeout(resolve, 150));
  control.heal();
  const [answer] = await readMessages(await client.get(id, first));
  expect(answer?.message).toMatchObject({ id: 7, error: { data: { code: "OUTCOME_UNKNOWN" } } });
  expect(await client.call(id, "list", {}, 7)).toMatchObject({ status: 200 });
});

test("messages after the end of a session leave nothing behind", async () => {
  const replicas = createReplicas();
  const one = replicas.start();
  const { promise: built, resolve: build } =
    Promise.withResolvers<ReturnType<typeof createNotesServer>>();
  const two = replicas.start({
    createServer: ({ session }) => {
      const mcp = createNotesServer(session);
      build(mcp);
      return mcp;
    },
  });
  const id = await one.client.initialize();
  await one.client.post(id, wait(7, 60_000));
  await two.client.call(id, "announce");
  const cancel = { method: "notifications/cancelled", params: { requestId: 7 } };
  await two.client.post(id, cancel);
  await one.client.end(id);
  await (await built).server.notification({ method: "notifications/resources/list_changed" });
  const kinds = async () => {
    const { records } = await replicas.store.list({ limit: 100 });
    return records.map(({ key }) => (JSON.parse(key) as string[])[2]);
  };
  expect(await kinds()).not.toContain("standalone");
  expect(await kinds()).not.toContain("mail");
});

test("a client that says it is initialized along with a request is remembered as such", async () => {
  const replicas = createReplicas();
  const { client } = replicas.start();
  const started = await client.post(undefined, {
    ...initializeRequest,
    params: { ...initializeRequest.params, protocolVersion: "2025-03-26" },
  });
  await readMessages(started);
  const id = started.headers.get("mcp-session-id")!;
  const version = { "mcp-protocol-version": "2025-03-26" };
  const batch = [{ method: "notifications/initialized" }, { id: 1, method: "ping" }];
  await readMessages(await client.post(id, batch, version));
  expect(replicas.lines).toEqual(["initialized"]);
  await readMessages(await replicas.start().client.post(id, { id: 2, method: "ping" }, version));
  expect(replicas.lines).toEqual(["initialized", "initialized"]);
});

test("a server that fails to connect is closed, and an adoption that failed leaves no session", async () => {
  const replicas = createReplicas({ unknownSession: "adopt" });
  let closed = 0;
  const { client } = replicas.start({
    createServer: ({ session }) => {
      const mcp = createNotesServer(session);
      return Object.assign(mcp, {
        connect: () => Promise.reject(new Error("no")),
        close: async () => void closed++,
      });
    },
  });
  expect(await client.call("unknown", "list")).toMatchObject({ status: 500 });
  expect(closed).toBe(1);
  expect((await replicas.store.list({ limit: 10 })).records).toEqual([]);
});
