import { createMemoryStore, type SessionStore } from "@durable-mcp/core";
import { encryptStore } from "@durable-mcp/core/sealing";
import { createFaultyStore } from "@durable-mcp/testing";
import { describe, expect, test } from "vitest";
import { said } from "../../test/chat.ts";
import { createStoredMessages } from "./stored-messages.ts";

const of = { prefix: "chat/1.", owner: "alice" };
const long = (letter: string, count = 150_000) => said(letter.repeat(count), letter);
const keysIn = async (store: SessionStore) =>
  (await store.list({ prefix: of.prefix, limit: 100 })).records.map(({ key }) => key).toSorted();

describe("messages in a store", () => {
  test("are those that were saved, however long they are", async () => {
    const store = createMemoryStore();
    const chat = createStoredMessages(store, of);
    expect(await chat.load()).toEqual([]);
    for (const messages of [[said("a")], [long("a"), long("b"), said('"\\\n😀')], []]) {
      await chat.save(messages);
      expect(await createStoredMessages(store, of).load()).toEqual(messages);
    }
    expect(await keysIn(store)).toEqual(["chat/1.messages"]);
  });

  test("are written once, as far as they do not change", async () => {
    const faulty = createFaultyStore(createMemoryStore());
    const first = [long("a"), long("b")];
    await createStoredMessages(faulty.store, of).save(first);
    const before = await keysIn(faulty.store);
    expect(before).toHaveLength(4);
    const later = createStoredMessages(faulty.store, of);
    await later.load();
    faulty.log.length = 0;
    await later.save([...first, said("More")]);
    expect(faulty.log).toEqual(["put"]);
    await later.save([...first, said("Less")]);
    expect(await keysIn(faulty.store)).toEqual(before);
  });

  test("fit into the records of a store with smaller ones", async () => {
    const memory = createMemoryStore();
    const put: SessionStore["put"] = async (key, value, ...rest) => {
      expect(Buffer.byteLength(JSON.stringify(value))).toBeLessThan(4_000);
      return await memory.put(key, value, ...rest);
    };
    const store = { ...memory, put, maxBytes: 4_000 };
    const messages = [said("語".repeat(3_000)), said('"'.repeat(3_000))];
    await createStoredMessages(store, of).save(messages);
    expect(await createStoredMessages(store, of).load()).toEqual(messages);
  });

  test("are sealed in an encrypted store", async () => {
    const memory = createMemoryStore();
    const key = btoa("k".repeat(32));
    const store = encryptStore(memory, { keys: { current: key }, fingerprintKey: key });
    await createStoredMessages(store, of).save([said("A secret")]);
    expect(await createStoredMessages(store, of).load()).toEqual([said("A secret")]);
    const { records } = await memory.list({ prefix: "", limit: 10 });
    expect(JSON.stringify(records)).not.toMatch(/secret|alice/);
  });

  test("of another request are not replaced", async () => {
    const store = createMemoryStore();
    const [one, other] = [createStoredMessages(store, of), createStoredMessages(store, of)];
    await Promise.all([one.load(), other.load()]);
    await one.save([said("One")]);
    await expect(other.save([said("Other")])).rejects.toMatchObject({ code: "STORE_FAILED" });
    expect(await other.load()).toEqual([said("One")]);
  });

  test("are read while they are replaced", async () => {
    const faulty = createFaultyStore(createMemoryStore());
    const [reader, writer] = [
      createStoredMessages(faulty.store, of),
      createStoredMessages(faulty.store, of),
    ];
    await writer.save([long("a")]);
    let isReplaced = false;
    faulty.meet("getMany", async (operate) => {
      if (!isReplaced) await writer.save([long("b")]);
      isReplaced = true;
      return await operate();
    });
    faulty.meet("get", async (operate, { keys }) => {
      if (!keys[0]!.endsWith("messages") && !isReplaced) {
        isReplaced = true;
        await writer.save([long("b")]);
      }
      return await operate();
    });
    expect(await reader.load()).toEqual([long("b")]);
  });

  test.each([
    ["damaged", null],
    ["of a later release", { version: 2, pieces: [], end: "[]" }],
    ["cut", { version: 1, by: "x", pieces: [], end: "[{" }],
    ["without a piece", { version: 1, by: "x", pieces: ["gone"], end: "[]" }],
  ])("that are %s are no empty chat", async (_, value) => {
    const store = createMemoryStore();
    await store.put("chat/1.messages", value, null, { owner: "alice" });
    const loading = createStoredMessages(store, of).load();
    await expect(loading).rejects.toMatchObject({ code: "STATE_INVALID" });
  });
});
