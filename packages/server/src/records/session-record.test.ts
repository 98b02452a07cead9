import { createMemoryStore } from "@durable-mcp/core";
import { expect, test } from "vitest";
import record from "../../test/fixtures/session-record-1.json" with { type: "json" };
import { createNotesServer, type Notes } from "../../test/notes-server.ts";
import { createRawClient } from "../../test/raw-client.ts";
import { createSessionHandler } from "../index.ts";
import { createSessionId, hashSessionId } from "../base/session-id.ts";
import { parseSessionRecord } from "./session-record.ts";
import { storeKey } from "./store-key.ts";

const now = () => record.usedAt + 1_000;

async function handlerWith(stored: object) {
  const store = createMemoryStore({ now });
  const id = createSessionId();
  const key = storeKey("default", "session", (await hashSessionId(id))!);
  await store.put(key, stored as never, null, { owner: record.owner });
  const lines: string[] = [];
  const handler = createSessionHandler<Notes>({
    store,
    now,
    principal: "none",
    createServer: ({ session }) => createNotesServer(session, { lines }),
  });
  return { client: createRawClient(handler), id, lines };
}

test("a session that version 1 stored is restored", async () => {
  const { client, id, lines } = await handlerWith(record);
  expect(await client.call(id, "list")).toMatchObject({ text: "a,b" });
  expect(lines).toEqual(["initialized", "level warning", "subscribed notes://all"]);
});

test.each([
  ["of a later version", { ...record, version: 2 }],
  ["of another principal", { ...record, owner: '["default","app"]' }],
  ["that was cut", { version: 1 }],
  ["of no kind", []],
])("a record %s is no session", async (_, stored) => {
  const { client, id } = await handlerWith(stored);
  expect(await client.call(id, "list")).toMatchObject({ status: 404 });
});

test("a record is kept as it was read, member for member", () => {
  expect(parseSessionRecord(record)).toBe(record);
});
