import { describe, expect, test } from "vitest";
import { createMemoryStore } from "./memory-store.ts";
import { testSessionStore } from "../../../testing/src/store/index.ts";

describe("the suite for stores", () => {
  const store = createMemoryStore();
  testSessionStore({
    test,
    open: () => ({ store }),
    hasConnection: false,
    processes: false,
    plant: false,
  });
});

test("refuses a record too many, and takes it when one is deleted", async () => {
  const store = createMemoryStore({ maxRecords: 2 });
  const put = (key: string) => store.put(key, 1, null, { owner: "o" });
  const first = await put("a");
  await put("b");
  await expect(put("c")).rejects.toMatchObject({ code: "STORE_FAILED" });
  expect(await store.get("c")).toBeUndefined();
  // What is there can still be replaced.
  expect(first.ok && (await store.put("a", 2, first.revision, { owner: "o" })).ok).toBe(true);
  await store.delete("b");
  expect((await put("c")).ok).toBe(true);
});

test("makes room for a record by letting expired ones go", async () => {
  let time = 0;
  const store = createMemoryStore({ maxRecords: 2, now: () => time });
  await store.put("a", 1, null, { owner: "o", expiresAt: 10 });
  await store.put("b", 1, null, { owner: "o", expiresAt: 20 });
  time = 10;
  expect((await store.put("c", 1, null, { owner: "o" })).ok).toBe(true);
  await expect(store.put("d", 1, null, { owner: "o" })).rejects.toMatchObject({
    code: "STORE_FAILED",
  });
});

test("goes by the clock that it is given", async () => {
  let time = 1_000;
  const store = createMemoryStore({ now: () => time });
  await store.put("a", 1, null, { owner: "o", expiresAt: 2_000 });
  expect((await store.list({ limit: 1 })).records[0]?.lastUsedAt).toBe(1_000);
  time = 1_999;
  expect(await store.get("a")).toBeDefined();
  time = 2_000;
  expect(await store.get("a")).toBeUndefined();
});

test("keeps a share free where a put asks for that, and has it for others", async () => {
  const store = createMemoryStore({ maxRecords: 4 });
  const put = (key: string, leaveFree?: number) =>
    store.put(key, 1, null, { owner: "o", leaveFree });
  await put("a", 0.5);
  const second = await put("b", 0.5);
  await expect(put("c", 0.5)).rejects.toThrow(
    "The memory store is full (4 records; 2 must stay free). Raise maxRecords",
  );
  expect(await store.get("c")).toBeUndefined();
  // What is there can still be replaced, and other writes may use the rest.
  const revision = second.ok ? second.revision : "";
  expect((await store.put("b", 2, revision, { owner: "o", leaveFree: 1 })).ok).toBe(true);
  const write = { type: "put", value: 1, ifRevision: null, owner: "o" } as const;
  const [c, d, e] = ["c", "d", "e"].map((key) => ({ ...write, key }));
  expect((await store.batch!([c!, d!])).ok).toBe(true);
  await expect(store.batch!([e!])).rejects.toMatchObject({ code: "STORE_FAILED" });
  expect((await store.batch!([e!, { type: "delete", key: "a" }])).ok).toBe(true);
  for (const leaveFree of [-0.1, 1.1, Number.NaN]) {
    await expect(put("f", leaveFree)).rejects.toMatchObject({ data: { field: "leaveFree" } });
  }
});
