import { createMemoryStore } from "@durable-mcp/core";
import { expect, test } from "vitest";
import { createStoreAtFault } from "./store-at-fault.ts";

test("counts the operations that a fault has met, from the first of its kind until it is healed", async () => {
  const { store, failAt, heal, met } = createStoreAtFault(createMemoryStore());
  failAt("put", () => Promise.reject(new Error("no room")));
  await store.get("key");
  expect(met()).toBe(0);

  await expect(store.put("key", 1, null, { owner: "o" })).rejects.toThrow("no room");
  await expect(store.get("key")).rejects.toThrow("no room");
  heal();
  await store.put("key", 1, null, { owner: "o" });
  expect(met()).toBe(2);

  failAt("get", (operation) => operation());
  expect(met()).toBe(0);
  expect(await store.get("key")).toMatchObject({ value: 1 });
  expect(met()).toBe(1);
});
