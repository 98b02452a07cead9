import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { expectConflict, expectKeys, listAll, put } from "./expectations.ts";
import type { StoreTest } from "./store-test.ts";

const hour = 3_600_000;

/** Expired records are absent from everything. */
export const expiryTests: readonly StoreTest[] = [
  {
    title: "keeps a value that expires later, and says when",
    async run({ store, unique }) {
      const expiresAt = Date.now() + hour;
      const revision = await put(store, unique, 1, null, { expiresAt });
      assert.deepEqual(await store.get(unique), { value: 1, revision });
      const { records } = await store.list({ prefix: unique, limit: 2 });
      assert.equal(records[0]?.expiresAt, expiresAt);
    },
  },
  {
    title: "keeps a value without an end, and says so",
    async run({ store, unique }) {
      const first = await put(store, unique, 1, null, { expiresAt: Date.now() + hour });
      await put(store, unique, 2, first);
      const { records } = await store.list({ prefix: unique, limit: 2 });
      assert.equal(records[0]?.value, 2);
      assert.equal(records[0].expiresAt, undefined);
    },
  },
  {
    title: "lets a value go when its time has come",
    async run({ store, unique }) {
      const expiresAt = Date.now() + 500;
      const revision = await put(store, unique, 1, null, { expiresAt, owner: unique });
      await put(store, `${unique}stays`, 1, null, { expiresAt: Date.now() + hour, owner: unique });
      for (const deadline = Date.now() + 20_000; await store.get(unique);) {
        assert.ok(Date.now() < deadline, "the value is to expire");
        await sleep(50);
      }
      assert.ok(Date.now() >= expiresAt - 100, "the value is not to expire early");
      await expectAbsent(store, unique, revision);
    },
  },
  {
    title: "treats what was put after its end as absent",
    async run({ store, unique }) {
      await put(store, `${unique}stays`, 1, null, { owner: unique });
      const revision = await put(store, unique, 1, null, {
        expiresAt: Date.now() - 1,
        owner: unique,
      });
      await expectAbsent(store, unique, revision);
    },
  },
  {
    title: "lets the end of a value be set with the next put",
    async run({ store, unique }) {
      await put(store, `${unique}stays`, 1, null, { owner: unique });
      const first = await put(store, unique, 1, null, { owner: unique });
      const second = await put(store, unique, 2, first, { expiresAt: 0, owner: unique });
      await expectAbsent(store, unique, second);
    },
  },
  {
    title: "makes room for a new value where one has expired",
    async run({ store, unique }) {
      const before = await put(store, unique, 1, null, { expiresAt: 1, owner: "before" });
      const revision = await put(store, unique, 2, null, { owner: unique });
      assert.notEqual(revision, before);
      assert.deepEqual(await store.get(unique), { value: 2, revision });
      const records = await listAll(store, { prefix: unique, limit: 5 });
      expectKeys(records, [unique]);
      assert.equal(records[0]?.owner, unique);
      assert.equal(records[0].expiresAt, undefined);
    },
  },
];

/** Puts `${unique}stays`, which stays, and `unique`, which has expired. */
async function expectAbsent(
  store: Parameters<StoreTest["run"]>[0]["store"],
  unique: string,
  revision: string,
): Promise<void> {
  assert.equal(await store.get(unique), undefined);
  for (const query of [
    { prefix: unique },
    { owner: unique },
    { prefix: unique, idleSince: Date.now() + hour },
  ]) {
    expectKeys(await listAll(store, { ...query, limit: 5 }), [`${unique}stays`]);
  }
  await store.touch(unique, Date.now() + hour);
  assert.equal(await store.get(unique), undefined);
  expectConflict(await store.put(unique, 2, revision, { owner: unique }), undefined);
  expectConflict(await store.delete(unique, revision), undefined);
  assert.deepEqual(await store.delete(unique), { ok: true });
}
