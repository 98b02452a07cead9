import { createMemoryStore } from "@durable-mcp/core";
import { maxBatch } from "@durable-mcp/core/internal";
import { createFaultyStore } from "@durable-mcp/testing";
import { expect, test } from "vitest";
import { deleteAll } from "./delete-all.ts";

test.each(["with a batch", "without one"])(
  "many records go, but none that was written since, in a store %s",
  async (kind) => {
    const { store, log } = createFaultyStore(createMemoryStore());
    const use = { owner: "o" };
    const keys = Array.from({ length: 2 * maxBatch + 2 }, (_, index) => `${index}`);
    await Promise.all(keys.map((key) => store.put(key, 1, null, use)));
    const { records } = await store.list({ limit: 1_000 });
    // The last batch has one.
    await store.put("300", 2, records[300]!.revision, use);
    log.length = 0;
    if (kind === "without one") Object.assign(store, { batch: undefined });
    const gone = await deleteAll(store, records);
    expect(gone).toHaveLength(2 * maxBatch + 1);
    expect((await store.list({ limit: 1_000 })).records).toMatchObject([{ key: "300", value: 2 }]);
    expect(log.filter((name) => name === "batch")).toHaveLength(kind === "with a batch" ? 4 : 0);
  },
);
