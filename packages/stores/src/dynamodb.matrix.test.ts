import {
  DeleteTableCommand,
  GetItemCommand,
  ScanCommand,
  UpdateItemCommand,
} from "@aws-sdk/client-dynamodb";
import { testSessionStore } from "@durable-mcp/testing/store";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type DynamoDbServer, startDynamoDb } from "../test/dynamodb-server.ts";
import openDynamoDb from "../test/open-dynamodb.ts";
import { primaryKey } from "./dynamodb/item.ts";

let server: DynamoDbServer;
beforeAll(async () => {
  server = await startDynamoDb();
  await openDynamoDb(server.port).store.createTable();
});
afterAll(() => server?.remove());

describe("the suite for stores, on an emulator of DynamoDB", () => {
  testSessionStore({
    test,
    open: () => openDynamoDb(server.port, { timeoutMs: 20_000 }),
    hasConnection: false,
    async plant(key, text) {
      const { client } = openDynamoDb(server.port);
      const input = {
        TableName: "sessions",
        Key: await primaryKey({ table: "sessions", prefix: "mcp-sessions", shards: 4 }, key),
        UpdateExpression: "SET json_text = :text",
        ExpressionAttributeValues: { ":text": { S: text } },
      };
      await client.send(new UpdateItemCommand(input));
    },
    processes: {
      module: new URL("../test/open-dynamodb.ts", import.meta.url),
      data: () => server.port,
      execArgv: ["--conditions=@durable-mcp/source"],
    },
  });
});

describe("the store", () => {
  const owner = "o";
  beforeEach(() => void server.take());

  test("says that its write was done when the client lost the answer and tried again", async () => {
    const { store } = openDynamoDb(server.port);
    server.loseNext("UpdateItem");
    const first = await store.put("lost", 1, null, { owner });
    expect(first.ok).toBe(true);
    server.loseNext("UpdateItem");
    const second = await store.put("lost", 2, first.ok ? first.revision : "", { owner });
    expect(second.ok).toBe(true);
    expect(await store.get("lost")).toEqual({ value: 2, revision: second.ok && second.revision });
  });

  test("is one request an operation, and two when it was used later than the write says", async () => {
    const { store } = openDynamoDb(server.port);
    const put = await store.put("requests", 1, null, { owner });
    await store.get("requests");
    await store.touch("requests", Date.now() + 1_000);
    expect(server.take()).toEqual(["UpdateItem", "GetItem", "UpdateItem"]);
    const again = await store.put("requests", 2, put.ok ? put.revision : "", { owner });
    expect(again.ok).toBe(true);
    expect(server.take()).toEqual(["UpdateItem", "UpdateItem"]);
    await store.delete("requests");
    expect(server.take()).toEqual(["DeleteItem"]);
  });

  test("reads 100 keys with one request, and each once", async () => {
    const { store } = openDynamoDb(server.port);
    const keys = Array.from({ length: 150 }, (_, n) => `many ${n}`);
    await Promise.all(keys.map((key) => store.put(key, key, null, { owner })));
    server.take();
    const found = await store.getMany!([...keys, "none", keys[0]!]);
    expect(found.map((each) => each?.value)).toEqual([...keys, undefined, keys[0]]);
    expect(server.take()).toEqual(["BatchGetItem", "BatchGetItem"]);
  });

  test("keeps a time for DynamoDB to remove the item, which lies ahead", async () => {
    const { store, client } = openDynamoDb(server.port);
    const key = await primaryKey(
      { table: "sessions", prefix: "mcp-sessions", shards: 4 },
      "expires",
    );
    const attributes = async () =>
      (
        await client.send(
          new GetItemCommand({ TableName: "sessions", Key: key, ConsistentRead: true }),
        )
      ).Item!;
    const seconds = Math.floor(Date.now() / 1_000);
    const gone = await store.put("expires", 1, null, { owner, expiresAt: 0 });
    expect(Number((await attributes())["remove_at"]!.N)).toBeGreaterThan(seconds);
    expect(gone.ok && (await store.get("expires"))).toBeUndefined();
    const put = await store.put("expires", 1, null, { owner, expiresAt: (seconds + 100) * 1_000 });
    expect((await attributes())["remove_at"]!.N).toBe(String(seconds + 160));
    await store.put("expires", 1, put.ok ? put.revision : "", { owner });
    expect(await attributes()).not.toHaveProperty("remove_at");
  });

  test("spreads its records over its shards, and keeps stores with other prefixes apart", async () => {
    const { store, client } = openDynamoDb(server.port, { prefix: "spread" });
    const keys = Array.from({ length: 40 }, (_, n) => `key ${n}`);
    await Promise.all(keys.map((key) => store.put(key, 1, null, { owner })));
    const { Items: items = [] } = await client.send(new ScanCommand({ TableName: "sessions" }));
    const names = items.map((item) => item["store_shard"]!.S!);
    const own = new Set(names.filter((name) => name.startsWith("spread#")));
    expect([...own].toSorted()).toEqual([0, 1, 2, 3].map((n) => `spread#${n}`));
    const other = openDynamoDb(server.port, { prefix: "other" }).store;
    expect((await other.list({ limit: 10 })).records).toEqual([]);
    expect(await other.get("key 1")).toBeUndefined();
  });

  test("creates its table once, however many ask at once", async () => {
    const { store, client } = openDynamoDb(server.port, { table: "another" });
    await expect(store.get("k")).rejects.toMatchObject({
      code: "STORE_FAILED",
      message: expect.stringMatching(/\(RESOURCE_NOT_FOUND\): there is no such table\./),
    });
    await Promise.all(Array.from({ length: 6 }, () => store.createTable()));
    await store.createTable();
    expect((await store.put("k", 1, null, { owner })).ok).toBe(true);
    await client.send(new DeleteTableCommand({ TableName: "another" }));
  });

  test("creates its table on an emulator that knows no removal of expired items", async () => {
    const { store } = openDynamoDb(server.barePort, { table: "bare" });
    await store.createTable();
    await store.createTable();
    expect((await store.put("k", 1, null, { owner })).ok).toBe(true);
  });

  test("claims that nothing was written only if the client tried once", async () => {
    expect(await failedPut(1)).toMatch(/\(ECONNREFUSED\).*Nothing was written\.$/);
    expect(await failedPut(2)).toMatch(/\(ECONNREFUSED\).*It may have been done or not/);
  });

  test("stops in time, with what the client would try again", async () => {
    const { store } = openDynamoDb(1, { timeoutMs: 30, maxAttempts: 20 });
    await expect(store.get("k")).rejects.toThrow(/\(TIMEOUT\)/);
  });
});

/** The message of a put to an address where nobody listens. */
async function failedPut(maxAttempts: number): Promise<string> {
  const { store } = openDynamoDb(1, { maxAttempts });
  const error = await store.put("k", 1, null, { owner: "o" }).catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code: "STORE_FAILED" });
  return (error as Error).message;
}
