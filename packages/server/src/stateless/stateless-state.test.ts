import { createMemoryStore, type SessionStore } from "@durable-mcp/core";
import { expect, test } from "vitest";
import { call, startCarts } from "../../test/carts.ts";
import { createCartServer } from "../../test/cart-server.ts";
import { countOperations } from "../../test/counted-store.ts";
import { createFragileStore, downAt } from "../../test/fragile-store.ts";

test("requests of a principal share a state with its sessions, on every replica", async () => {
  await using carts = startCarts({ stateScope: "principal" });
  const [one, other] = [await carts.replica(), await carts.replica()];
  const [modern, older, old] = [
    await carts.modern(one.url),
    await carts.older(other.url),
    await carts.old(one.url),
  ];
  expect(await call(modern, "add", { item: "tea" })).toBe("1 items");
  expect(await call(older, "add", { item: "milk" })).toBe("2 items");
  expect(await call(old, "update", { item: "bread" })).toBe("updated");
  for (const client of [modern, older, old]) {
    expect(await call(client, "list")).toBe("tea,milk,bread");
  }
});

test("another principal has another state", async () => {
  await using carts = startCarts({ stateScope: "principal" });
  const { url } = await carts.replica();
  await call(await carts.modern(url, "ada"), "add", { item: "tea" });
  expect(await call(await carts.modern(url, "bob"), "list")).toBe("");
  expect(await call(await carts.old(url, "bob"), "list")).toBe("");
});

test("an anonymous caller has no state of a principal, and may use tools without state", async () => {
  await using carts = startCarts({ stateScope: "principal" });
  const { url } = await carts.replica();
  const anonymous = await carts.anonymous(url);
  expect(await call(anonymous, "add", { item: "tea" })).toContain("is anonymous. Sign in first.");
  expect(await call(anonymous, "client")).toContain("2026-07-28");
  expect(await keysOf(carts.store)).toEqual([]);
});

test("in scope session a request of 2026-07-28 is told which option gives it a state", async () => {
  await using carts = startCarts();
  const { url } = await carts.replica();
  const text = await call(await carts.modern(url), "add", { item: "tea" });
  expect(text).toContain('Set stateScope to "principal"');
  expect(await call(await carts.older(url), "add", { item: "tea" })).toBe("1 items");
});

test("a call that changes nothing writes nothing", async () => {
  const { store, counts } = countOperations(createMemoryStore());
  const written = () => (counts.get("put") ?? 0) + (counts.get("batch") ?? 0);
  await using carts = startCarts({ stateScope: "principal", store });
  const { url } = await carts.replica();
  const client = await carts.modern(url);
  await call(client, "add", { item: "tea" });
  expect(written()).toBe(1);
  expect(await call(client, "list")).toBe("tea");
  expect(await call(client, "client")).toContain("2026-07-28");
  expect(written()).toBe(1);
});

test("a draft is stored before the answer goes out, also when messages went before it", async () => {
  await using carts = startCarts({ stateScope: "principal" });
  const { url } = await carts.replica();
  const response = await carts.post(url, "tools/call", {
    name: "add_with_progress",
    arguments: { item: "tea" },
  });
  expect(response.headers.get("content-type")).toBe("text/event-stream");
  const text = await response.text();
  expect(text.match(/^data: /gm)).toHaveLength(2);
  expect(text).toContain('"text":"added"');
  expect(await call(await carts.modern(url), "list")).toBe("tea,tea again");
});

test.each([
  ["add", "application/json"],
  ["add_with_progress", "text/event-stream"],
])("when the state of %s cannot be stored, its client gets an error (%s)", async (name, type) => {
  const { store, control } = createFragileStore();
  await using carts = startCarts({ stateScope: "principal", store });
  const { url } = await carts.replica();
  const client = await carts.modern(url);
  await call(client, "add", { item: "tea" });
  control.interfere = downAt("put", "batch");
  const response = await carts.post(url, "tools/call", { name, arguments: { item: "milk" } });
  expect(response.headers.get("content-type")).toContain(type);
  const text = await response.text();
  expect(text).toContain("STORE_FAILED");
  expect(text).not.toContain('"result"');
  control.interfere = undefined;
  expect(await call(client, "list")).toBe("tea");
});

test.each(["bigint", "date"])(
  "a state with a %s is refused, and the stored one stays",
  async (kind) => {
    await using carts = startCarts({ stateScope: "principal" });
    const { url } = await carts.replica();
    const client = await carts.modern(url);
    await call(client, "add", { item: "tea" });
    await expect(call(client, "spoil", { kind })).rejects.toThrow("state.spoiled is a");
    expect(await call(client, "list")).toBe("tea");
    expect(carts.events).toContainEqual(
      expect.objectContaining({ type: "state-invalid", session: undefined }),
    );
  },
);

test("of two calls that change the same at once the later fails, in both eras", async () => {
  const arrived: (() => void)[] = [];
  const whenSlow = () => new Promise<void>((resolve) => arrived.push(resolve));
  await using carts = startCarts({
    stateScope: "principal",
    createServer: ({ session }) => createCartServer(session, { whenSlow }),
  });
  const { url } = await carts.replica();
  for (const client of [await carts.modern(url), await carts.older(url)]) {
    const slow = call(client, "add_slowly", { item: "slow" }).catch(
      (error: Error) => error.message,
    );
    while (arrived.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await call(await carts.modern(url), "add", { item: "fast" });
    arrived.pop()!();
    expect(await slow).toContain("Another call changed the state");
  }
  expect(await call(await carts.modern(url), "list")).toBe("fast,fast");
});

test("parallel updates of both eras on two replicas lose nothing", async () => {
  await using carts = startCarts({ stateScope: "principal" });
  const [one, other] = [await carts.replica(), await carts.replica()];
  const clients = [
    await carts.older(one.url),
    await carts.older(other.url),
    await carts.modern(one.url),
    await carts.modern(other.url),
  ];
  const calls = Array.from({ length: 200 }, (_, index) =>
    call(clients[index % clients.length]!, "update", { item: `${index}` }),
  );
  expect(new Set(await Promise.all(calls))).toEqual(new Set(["updated"]));
  const items = (await call(clients[0]!, "list")).split(",").map(Number);
  expect(items.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 200 }, (_, n) => n));
});

test("a question keeps what was done before it", async () => {
  await using carts = startCarts({ stateScope: "principal" });
  const { url } = await carts.replica();
  const params = { name: "order", arguments: {} };
  const envelope = { "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {} } } };
  const response = await carts.post(url, "tools/call", params, {}, envelope);
  expect(await response.json()).toMatchObject({ result: { resultType: "input_required" } });
  expect(await call(await carts.modern(url), "list")).toBe("reserved");
});

test("a call whose client leaves stores nothing", async () => {
  const begun = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  await using carts = startCarts({
    stateScope: "principal",
    createServer: ({ session }) =>
      createCartServer(session, {
        whenSlow: async (signal) => {
          begun.resolve();
          await new Promise((resolve) => signal.addEventListener("abort", resolve));
          ended.resolve();
        },
      }),
  });
  const { url } = await carts.replica();
  const client = await carts.modern(url);
  const leaving = new AbortController();
  const params = { name: "add_slowly", arguments: { item: "tea" } };
  const left = client.callTool(params, { signal: leaving.signal }).catch(() => "left");
  await begun.promise;
  leaving.abort();
  expect(await left).toBe("left");
  await ended.promise;
  expect(await call(client, "list")).toBe("");
});

async function keysOf(store: SessionStore): Promise<string[]> {
  const prefix = '["durable-mcp-server","default","state"';
  const { records } = await store.list({ prefix, limit: 100 });
  return records.map(({ key }) => key);
}
