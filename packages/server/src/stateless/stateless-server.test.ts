import { McpServer } from "@modelcontextprotocol/server";
import { expect, test } from "vitest";
import { z } from "zod";
import { createCartServer } from "../../test/cart-server.ts";
import { call, startCarts } from "../../test/carts.ts";
import type { SessionLimits } from "../index.ts";

const text = (value: string) => ({ content: [{ type: "text" as const, text: value }] });

/** Calls of `add_slowly` that wait until they are let go. */
function createGate() {
  const waiting: (() => void)[] = [];
  return {
    waiting,
    hooks: { whenSlow: () => new Promise<void>((resolve) => waiting.push(resolve)) },
    whenWaiting: async (count: number) => {
      while (waiting.length < count) await new Promise((resolve) => setTimeout(resolve, 5));
    },
    open: () => {
      for (const letGo of waiting.splice(0)) letGo();
    },
  };
}

/** Carts in scope `principal`, whose `add_slowly` waits at the gate. */
const startGated = (gate: ReturnType<typeof createGate>, limits: SessionLimits = {}) =>
  startCarts({
    limits,
    stateScope: "principal",
    createServer: ({ session }) => createCartServer(session, gate.hooks),
  });

test("requests at the same time get their own principal, client and state", async () => {
  const gate = createGate();
  await using carts = startCarts({
    stateScope: "principal",
    createServer: async ({ session, principal }) => {
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 10));
      const mcp = new McpServer({ name: "who", version: "1.0.0" });
      mcp.registerTool("who", { inputSchema: z.object({ item: z.string() }) }, async ({ item }) => {
        await gate.hooks.whenSlow();
        session.state.items.push(item);
        return text(`${JSON.stringify(principal)} ${session.state.items.join(",")}`);
      });
      return mcp;
    },
  });
  const { url } = await carts.replica();
  const users = Array.from({ length: 20 }, (_, index) => `user-${index}`);
  const calls = users.map(async (user) =>
    (
      await carts.post(url, "tools/call", { name: "who", arguments: { item: user } }, { user })
    ).json(),
  );
  await gate.whenWaiting(20);
  gate.open();
  const said = (await Promise.all(calls)).map((answer) => answer.result.content[0].text as string);
  for (const [index, user] of users.entries()) {
    expect(said[index]).toBe(`{"type":"user","issuer":"test","id":"${user}"} ${user}`);
  }
});

test("the server of a request is closed after it, and callbacks run, however it ends", async () => {
  const closed: string[] = [];
  const built: string[] = [];
  await using carts = startCarts({
    stateScope: "principal",
    createServer: ({ session, onClose }) => {
      const server = createCartServer(session);
      built.push("server");
      onClose(() => void closed.push(server.isConnected() ? "connected" : "closed"));
      return server;
    },
  });
  const { url } = await carts.replica();
  const params = { name: "list", arguments: {} };
  await (await carts.post(url, "tools/call", params)).text();
  await (await carts.post(url, "tools/call", { ...params, name: "unknown" })).text();
  const progress = { name: "add_with_progress", arguments: { item: "tea" } };
  await (await carts.post(url, "tools/call", progress)).text();
  await (await carts.post(url, "no/such/method", {})).text();
  await (await carts.post(url, "tools/call", params, { "mcp-name": "other" })).text();
  await carts.notify(url, "notifications/cancelled", { requestId: 5 });
  while (closed.length < built.length) await new Promise((resolve) => setTimeout(resolve, 5));
  expect(closed).toEqual(built.map(() => "closed"));
  expect(built.length).toBeGreaterThanOrEqual(4);
});

test("a drain waits for requests in flight, then gives 503", async () => {
  const gate = createGate();
  await using carts = startGated(gate);
  const { url, handler } = await carts.replica();
  const client = await carts.modern(url);
  const slow = call(client, "add_slowly", { item: "tea" });
  await gate.whenWaiting(1);
  const draining = handler.drain();
  const listening = await carts.post(url, "subscriptions/listen", {
    notifications: { toolsListChanged: true },
  });
  expect(listening.status).toBe(503);
  expect(await call(client, "list")).toBe("");
  gate.open();
  expect(await slow).toBe("added slowly");
  await draining;
  const late = await carts.post(url, "tools/call", { name: "list", arguments: {} });
  expect(late.status).toBe(503);
  expect(await call(await carts.modern((await carts.replica()).url), "list")).toBe("tea");
});

test("a drain waits for a request whose stream has begun", async () => {
  const gate = createGate();
  await using carts = startCarts({
    stateScope: "principal",
    createServer: ({ session }) => {
      const mcp = createCartServer(session);
      mcp.registerTool("begin", { inputSchema: z.object({}) }, async (_args, { mcpReq }) => {
        const params = { progressToken: 0, progress: 1 };
        await mcpReq.notify({ method: "notifications/progress", params });
        await gate.hooks.whenSlow();
        session.state.items.push("tea");
        return text("ended");
      });
      return mcp;
    },
  });
  const { url, handler } = await carts.replica();
  const response = await carts.post(url, "tools/call", { name: "begin", arguments: {} });
  await gate.whenWaiting(1);
  const draining = handler.drain();
  setTimeout(gate.open, 100);
  await draining;
  expect(await response.text()).toContain('"text":"ended"');
  expect(await call(await carts.modern((await carts.replica()).url), "list")).toBe("tea");
});

test("a request that a drain does not wait for is told so, and stores nothing", async () => {
  const gate = createGate();
  await using carts = startGated(gate);
  const { url, handler } = await carts.replica();
  const params = { name: "add_slowly", arguments: { item: "tea" } };
  const slow = carts.post(url, "tools/call", params);
  await gate.whenWaiting(1);
  await handler.drain({ timeoutMs: 50 });
  expect(await (await slow).json()).toMatchObject({ error: { data: { code: "OUTCOME_UNKNOWN" } } });
  gate.open();
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(await call(await carts.modern((await carts.replica()).url), "list")).toBe("");
});

test("a drain ends listening streams, and waits for none", async () => {
  await using carts = startCarts();
  const { url, handler } = await carts.replica();
  const listening = await carts.post(url, "subscriptions/listen", {
    notifications: { toolsListChanged: true },
  });
  const before = Date.now();
  await handler.drain({ timeoutMs: 20_000 });
  expect(Date.now() - before).toBeLessThan(10_000);
  expect(await listening.text()).toContain("notifications/subscriptions/acknowledged");
});

test("limits.requestsPerPrincipal bounds the requests of one principal, streams among them", async () => {
  const gate = createGate();
  await using carts = startGated(gate, { requestsPerPrincipal: 2 });
  const { url } = await carts.replica();
  const params = { name: "add_slowly", arguments: { item: "tea" } };
  const slow = carts.post(url, "tools/call", params);
  const leaving = new AbortController();
  const listening = await carts.listen(url, leaving.signal);
  await gate.whenWaiting(1);
  const list = () => carts.post(url, "tools/list", {});
  expect((await list()).status).toBe(429);
  expect(carts.events).toContainEqual({ type: "refused", reason: "too-many-requests" });
  expect((await carts.post(url, "tools/list", {}, { user: "bob" })).status).toBe(200);
  leaving.abort();
  await listening.text().catch(() => "");
  while ((await list()).status === 429) await new Promise((resolve) => setTimeout(resolve, 5));
  gate.open();
  expect((await slow).status).toBe(200);
  for (let n = 0; n < 5; n++) expect((await list()).status).toBe(200);
});

test("limits.liveSessions bounds the requests of all", async () => {
  const gate = createGate();
  await using carts = startGated(gate, { liveSessions: 1 });
  const { url } = await carts.replica();
  const params = { name: "add_slowly", arguments: { item: "tea" } };
  const slow = carts.post(url, "tools/call", params);
  await gate.whenWaiting(1);
  expect((await carts.post(url, "tools/list", {}, { user: "bob" })).status).toBe(503);
  gate.open();
  expect((await slow).status).toBe(200);
  expect((await carts.post(url, "tools/list", {}, { user: "bob" })).status).toBe(200);
});

test("an error of createServer is an event, and its client gets 500", async () => {
  const error = new Error("no database");
  await using carts = startCarts({ createServer: () => Promise.reject(error) });
  const { url } = await carts.replica();
  const response = await carts.post(url, "tools/list", {});
  expect(response.status).toBe(500);
  expect(await response.text()).not.toContain("database");
  expect(carts.events).toEqual([{ type: "failed", error }]);
});

test("an answer that is not JSON is an error, and what was done for it is not stored", async () => {
  await using carts = startCarts({
    stateScope: "principal",
    createServer: ({ session }) => {
      const mcp = createCartServer(session);
      mcp.registerTool("big", { inputSchema: z.object({}) }, () => {
        session.state.items.push("tea");
        return { ...text("big"), _meta: { big: 10n } };
      });
      return mcp;
    },
  });
  const { url } = await carts.replica();
  const response = await carts.post(url, "tools/call", { name: "big", arguments: {} });
  expect(await response.json()).toMatchObject({
    error: { message: expect.stringContaining("is not JSON") },
  });
  expect(await call(await carts.modern(url), "list")).toBe("");
});

test("a state can be read in createServer, and written in handlers only", async () => {
  const seen: unknown[] = [];
  await using carts = startCarts({
    stateScope: "principal",
    createServer: ({ session }) => {
      seen.push([...session.state.items]);
      expect(() => session.state.items.push("x")).toThrow("not extensible");
      return createCartServer(session);
    },
  });
  const { url } = await carts.replica();
  await carts.post(url, "tools/call", { name: "add", arguments: { item: "tea" } });
  const other = await carts.replica();
  expect(await call(await carts.older(other.url), "list")).toBe("tea");
  expect(seen).toEqual([[], ["tea"]]);
});

test("createServer reads the state that a handle names", async () => {
  const seen: unknown[] = [];
  await using carts = startCarts({
    stateScope: { handle: "cart" },
    createServer: ({ session }) => {
      const mcp = createCartServer(session);
      seen.push(...session.state.items);
      return mcp;
    },
  });
  const { url } = await carts.replica();
  const params = { name: "add_for_handle", arguments: { item: "tea" } };
  const answer = await (await carts.post(url, "tools/call", params)).json();
  const cart = answer.result.content[0].text as string;
  await (await carts.post(url, "tools/call", { name: "list", arguments: { cart } })).text();
  expect(seen).toEqual(["tea"]);
});

test("a server that createServer returns twice is refused, with an event", async () => {
  let shared: McpServer | undefined;
  await using carts = startCarts({
    stateScope: "principal",
    createServer: ({ session }) => (shared ??= createCartServer(session)),
  });
  const { url } = await carts.replica();
  const add = (user: string) =>
    carts.post(url, "tools/call", { name: "add", arguments: { item: user } }, { user });
  expect((await add("ada")).status).toBe(200);
  expect((await add("bob")).status).toBe(500);
  expect(carts.events).toMatchObject([
    { type: "failed", error: { message: expect.stringContaining("Build a new one each time") } },
  ]);
});
