import { createMemoryStore } from "@durable-mcp/core";
import { expect, test } from "vitest";
import { createRawClient } from "../../test/raw-client.ts";
import { call, startCarts } from "../../test/carts.ts";

const stateScope = { handle: "cart" };

async function startWithHandles(options: Parameters<typeof startCarts>[0] = {}) {
  const carts = startCarts({ stateScope, ...options });
  return { carts, ...(await carts.replica()) };
}

async function statesIn(store: ReturnType<typeof startCarts>["store"]) {
  const prefix = '["durable-mcp-server","default","state"';
  return (await store.list({ prefix, limit: 100 })).records;
}

test("a session-era client fills a cart, and others read it by its handle, on another replica", async () => {
  const { carts, url } = await startWithHandles();
  await using _ = carts;
  const other = await carts.replica();
  const older = await carts.older(url);
  expect(await call(older, "add", { item: "tea" })).toBe("1 items");
  const cart = await call(older, "handle");
  expect(cart).toMatch(/^[\w-]{43}$/);

  const modern = await carts.modern(other.url);
  expect(await call(modern, "list", { cart })).toBe("tea");
  expect(await call(modern, "add_for_handle", { item: "milk", cart })).toBe(cart);
  expect(await call(await carts.old(other.url), "list", { cart })).toBe("tea,milk");
  // The session need not repeat its own handle.
  expect(await call(older, "list")).toBe("tea,milk");
  expect(await call(older, "list", { cart })).toBe("tea,milk");
});

test.each(["add_for_handle", "update_for_handle"])(
  "%s without a handle begins a cart, whose handle is 256 random bits",
  async (tool) => {
    const { carts, url } = await startWithHandles();
    await using _ = carts;
    const modern = await carts.modern(url);
    const [one, two] = [
      await call(modern, tool, { item: "tea" }),
      await call(modern, tool, { item: "milk" }),
    ];
    expect([one, two]).toEqual([
      expect.stringMatching(/^[\w-]{43}$/),
      expect.stringMatching(/^[\w-]{43}$/),
    ]);
    expect(await call(modern, "list", { cart: one })).toBe("tea");
    expect(await call(modern, "list", { cart: two })).toBe("milk");
    expect(await call(await carts.old(url), "list", { cart: one })).toBe("tea");
  },
);

test("two sessions have two carts", async () => {
  const { carts, url } = await startWithHandles();
  await using _ = carts;
  const [one, two] = [await carts.old(url), await carts.older(url)];
  await call(one, "add", { item: "tea" });
  await call(two, "add", { item: "milk" });
  expect(await call(one, "list")).toBe("tea");
  expect(await call(two, "list")).toBe("milk");
});

test("a handle that was read is good, even if its cart is empty", async () => {
  const { carts, url } = await startWithHandles();
  await using _ = carts;
  for (const client of [await carts.modern(url), await carts.older(url)]) {
    const cart = await call(client, "handle");
    expect(await call(await carts.modern(url), "list", { cart })).toBe("");
    expect(await call(await carts.old(url), "add", { item: "tea", cart })).toBe("1 items");
  }
});

test("unknown, expired and foreign handles get the same words, before the handler runs", async () => {
  const clock = { now: Date.now() };
  const now = () => clock.now;
  const store = createMemoryStore({ now });
  const { carts, url } = await startWithHandles({ store, now });
  await using _ = carts;
  const [ada, bob] = [await carts.modern(url, "ada"), await carts.modern(url, "bob")];
  const old = await call(ada, "add_for_handle", { item: "old" });
  clock.now += 29 * 86_400_000;
  const cart = await call(ada, "add_for_handle", { item: "tea" });
  clock.now += 2 * 86_400_000;
  const bobsSession = await carts.old(url, "bob");
  const refusals = [
    ...[
      await call(ada, "add", { item: "x", cart: old }),
      await call(bob, "add", { item: "x", cart }),
    ],
    ...[await call(bob, "add", { item: "x", cart: "unknown" })],
    ...[await call(bob, "add", { item: "x", cart: "A".repeat(43) })],
    ...[await call(bob, "add", { item: "x", cart: "x".repeat(100_000) })],
    ...[
      await call(bobsSession, "add", { item: "x", cart }),
      await call(bobsSession, "list", { cart }),
    ],
    ...[await call(await carts.anonymous(url), "list", { cart })],
  ];
  expect(new Set(refusals)).toEqual(
    new Set([expect.stringContaining('The argument "cart" names no state that you can use')]),
  );
  expect(await call(ada, "list", { cart })).toBe("tea");
});

test.each([5, null, {}, ""])("a handle that is %j is the same error", async (cart) => {
  const { carts, url, handler } = await startWithHandles();
  await using _ = carts;
  const params = { name: "list", arguments: { cart } };
  const modern = await (await carts.post(url, "tools/call", params)).text();
  const raw = createRawClient(handler, { authorization: "Bearer ada" });
  const older = await raw.call(await raw.initialize(), "list", { cart });
  for (const text of [modern, JSON.stringify(older.messages)]) {
    expect(text).toContain("names no state that you can use");
    expect(text).toContain('"isError":true');
  }
});

test("use keeps a state, and is not written with each read", async () => {
  const clock = { now: Date.now() };
  const now = () => clock.now;
  const store = createMemoryStore({ now });
  const { carts, url } = await startWithHandles({ store, now });
  await using _ = carts;
  const modern = await carts.modern(url);
  const cart = await call(modern, "add_for_handle", { item: "tea" });
  const [{ revision } = { revision: "" }] = await statesIn(store);
  for (let n = 0; n < 5; n++) await call(modern, "list", { cart });
  expect(await statesIn(store)).toMatchObject([{ revision }]);
  for (let n = 0; n < 4; n++) {
    clock.now += 20 * 86_400_000;
    expect(await call(modern, "list", { cart })).toBe("tea");
  }
});

test("an anonymous handle is good for whoever has it", async () => {
  const { carts, url } = await startWithHandles({ principal: "none" });
  await using _ = carts;
  const cart = await call(await carts.anonymous(url), "add_for_handle", { item: "tea" });
  expect(await call(await carts.anonymous(url), "list", { cart })).toBe("tea");
  expect(await call(await carts.old(url), "list", { cart })).toBe("tea");
});

test("a handle is in no key, no state, no session and no event, and stored only when it is of use", async () => {
  const { carts, url } = await startWithHandles();
  await using _ = carts;
  const modern = await carts.modern(url);
  await call(modern, "list");
  await call(modern, "client");
  await call(await carts.old(url), "list");
  expect(await statesIn(carts.store)).toEqual([]);
  const older = await carts.older(url);
  const handles = [
    await call(modern, "add_for_handle", { item: "tea" }),
    await call(older, "handle"),
  ];
  await call(await carts.modern(url, "bob"), "list", { cart: handles[0] });
  await call(modern, "spoil", { kind: "date", cart: handles[0] }).catch(() => "");
  const { records } = await carts.store.list({ prefix: "", limit: 1000 });
  // An answer that is kept for a client that comes back is the tool's own text.
  const others = records.filter(({ key }) => !key.includes('"answer"'));
  const errors = carts.events.map((event) => ("error" in event ? String(event.error) : ""));
  const everything = JSON.stringify([others, carts.events, errors]);
  expect(everything).toContain("tea");
  expect(carts.events.some(({ type }) => type === "state-invalid")).toBe(true);
  for (const handle of handles) expect(everything).not.toContain(handle);
});

test("a tool that does not return the handle of a cart that it began fails, and says why", async () => {
  const { carts, url } = await startWithHandles();
  await using _ = carts;
  const modern = await carts.modern(url);
  await expect(call(modern, "add", { item: "tea" })).rejects.toThrow(
    "Return session.handle in the result",
  );
  expect(await statesIn(carts.store)).toEqual([]);
  await expect(call(modern, "update", { item: "tea" })).rejects.toThrow("Return session.handle");
  expect(carts.events).toContainEqual(expect.objectContaining({ type: "state-invalid" }));
});

test("prompts take a handle too, and resources of a client without a session have no state", async () => {
  const { carts, url } = await startWithHandles();
  await using _ = carts;
  const modern = await carts.modern(url);
  const cart = await call(modern, "add_for_handle", { item: "tea" });
  const praise = (client: typeof modern, of: string) =>
    client.getPrompt({ name: "praise", arguments: { cart: of } });
  expect(JSON.stringify(await praise(modern, cart))).toContain("Praise tea");
  const older = await carts.older(url);
  expect(JSON.stringify(await praise(older, cart))).toContain("Praise tea");
  for (const client of [modern, older]) {
    await expect(praise(client, "unknown")).rejects.toMatchObject({ code: -32602 });
  }
  await expect(modern.readResource({ uri: "cart://items" })).rejects.toThrow(
    "resources/read has no arguments",
  );
  await call(older, "add", { item: "milk" });
  expect(JSON.stringify(await older.readResource({ uri: "cart://items" }))).toContain("milk");
});

test("the name of a handle is no name in its scope only", async () => {
  await using carts = startCarts({ stateScope: "principal" });
  const { url } = await carts.replica();
  for (const client of [await carts.modern(url), await carts.older(url)]) {
    expect(await call(client, "list", { cart: "anything" })).toBe("");
    expect(await call(client, "handle")).toContain("only with stateScope");
  }
});
