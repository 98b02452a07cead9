import { createMemoryStore } from "@durable-mcp/core";
import { expect, test } from "vitest";
import { createFaultyStore } from "./faulty-store.ts";

test("a faulty store is held back, fails, and is well again", async () => {
  const { store, log, ...faulty } = createFaultyStore(createMemoryStore());
  const gate = Promise.withResolvers<void>();
  faulty.before("get", () => gate.promise);
  faulty.fail("put");
  const reading = store.get("key");
  const put = () => store.put("key", 1, null, { owner: "o" });
  await expect(put()).rejects.toMatchObject({ code: "STORE_FAILED" });
  gate.resolve();
  expect(await reading).toBeUndefined();

  const met: unknown[] = [];
  faulty.meet("*", async (operate, operation) => {
    met.push(operation);
    return await operate();
  });
  await store.list({ prefix: "k", limit: 1 });
  expect(met).toEqual([{ name: "list", keys: ["k"] }]);
  faulty.heal();
  expect(await put()).toMatchObject({ ok: true });
  expect(log).toEqual(["get", "put", "list", "put"]);
});
