import assert from "node:assert/strict";
import type { SessionStore, StoreBatchWrite } from "@durable-mcp/core";
import { writeBatch } from "@durable-mcp/core/internal";
import { expectKeys, expectRejection, expectStored, listAll, put } from "./expectations.ts";
import type { StoreTest } from "./store-test.ts";

const hour = 3_600_000;
const putOf = (key: string, value: number, ifRevision: string | null = null) =>
  ({ type: "put", key, value, ifRevision, owner: key }) as const;
const deleteOf = (key: string, ifRevision?: string) =>
  ({ type: "delete", key, ifRevision }) as const;

/** Several writes at once. A store without `batch` makes them one after the other, up to a conflict. */
export const batchTests: readonly StoreTest[] = [
  {
    title: "makes all writes of a batch, and gives the revisions of the puts",
    async run({ store, open, unique }) {
      const replaced = await put(store, `${unique}replaced`, 1);
      const named = await put(store, `${unique}named`, 1);
      await put(store, `${unique}any`, 1);
      const answer = await writeBatch(store, [
        putOf(`${unique}new`, 2),
        deleteOf(`${unique}any`),
        putOf(`${unique}replaced`, 3, replaced),
        deleteOf(`${unique}named`, named),
        deleteOf(`${unique}absent`),
      ]);
      assert.ok(answer.ok, "the batch is to succeed");
      const [created, , changed] = answer.revisions;
      assert.deepEqual(answer.revisions, [created, undefined, changed, undefined, undefined]);
      const { store: other } = await open();
      await expectStored(other, `${unique}new`, 2, created!);
      await expectStored(other, `${unique}replaced`, 3, changed!);
      expectKeys(await listAll(other, { prefix: unique, limit: 9 }), [
        ...[`${unique}new`, `${unique}replaced`],
      ]);
      expectKeys(await listAll(other, { owner: `${unique}new`, limit: 9 }), [`${unique}new`]);
    },
  },
  {
    title: "makes none of a batch's writes if a condition does not hold, and names that one",
    async run({ store, unique }) {
      const there = await put(store, `${unique}there`, 1);
      const cases: readonly [StoreBatchWrite, number | undefined][] = [
        [putOf(`${unique}there`, 9), 1],
        [putOf(`${unique}there`, 9, "another"), 1],
        [putOf(`${unique}absent`, 9, there), undefined],
        [deleteOf(`${unique}there`, "another"), 1],
        [deleteOf(`${unique}absent`, there), undefined],
      ];
      for (const [number, [wrong, current]] of cases.entries()) {
        const [first, second, last] = ["first", "second", "last"].map(
          (name) => `${unique}${number}${name}`,
        ) as [string, string, string];
        const revision = await put(store, second, 1);
        const writes = [putOf(first, 2), deleteOf(second, revision), wrong, putOf(last, 2)];
        const answer = await writeBatch(store, writes);
        assert.ok(!answer.ok, "the batch is to be a conflict");
        assert.equal(answer.index, 2);
        assert.equal(answer.current?.value, current);
        assert.equal(answer.current?.revision, current && there);
        const isAtomic = store.batch !== undefined;
        assert.equal((await store.get(first))?.value, isAtomic ? undefined : 2);
        assert.equal((await store.get(second))?.value, isAtomic ? 1 : undefined);
        assert.equal(await store.get(last), undefined);
        await expectStored(store, `${unique}there`, 1, there);
      }
    },
  },
  {
    title: "names the first of several conditions of a batch that do not hold",
    async run({ store, unique }) {
      await put(store, unique, 1);
      const answer = await writeBatch(store, [
        deleteOf(`${unique}absent`),
        putOf(unique, 2),
        putOf(`${unique}other`, 2, "a revision"),
      ]);
      assert.equal(!answer.ok && answer.index, 1);
      expectKeys(await listAll(store, { prefix: unique, limit: 9 }), [unique]);
    },
  },
  {
    title: "takes what has expired for absent in a batch",
    async run({ store, unique }) {
      const expired = { owner: unique, expiresAt: 1 };
      await put(store, `${unique}a`, 1, null, expired);
      const old = await put(store, `${unique}b`, 1, null, expired);
      const refused = await writeBatch(store, [
        putOf(`${unique}a`, 2),
        putOf(`${unique}b`, 2, old),
      ]);
      assert.equal(!refused.ok && refused.index, 1);
      assert.equal(!refused.ok && refused.current, undefined);
      const lived = await store.get(`${unique}a`);
      if (store.batch) assert.equal(lived, undefined);
      const answer = await writeBatch(store, [
        { ...putOf(`${unique}a`, 3, lived?.revision ?? null), expiresAt: Date.now() + hour },
        { ...putOf(`${unique}c`, 3), expiresAt: Date.now() - 1 },
        deleteOf(`${unique}b`),
      ]);
      assert.ok(answer.ok, "the batch is to succeed");
      assert.equal((await store.get(`${unique}a`))?.value, 3);
      expectKeys(await listAll(store, { prefix: unique, limit: 9 }), [`${unique}a`]);
    },
  },
  {
    title: "makes a batch of 250 writes with large values and hostile keys",
    async run({ store, unique }) {
      const keys = Array.from({ length: 250 }, (_, n) => `${unique}${n}\0\\'"{}%é😀`);
      const value = "é".repeat(4_000);
      const answer = await writeBatch(
        store,
        keys.map((key) => ({ type: "put", key, value, ifRevision: null, owner: unique })),
      );
      assert.ok(answer.ok, "the batch is to succeed");
      assert.equal(new Set(answer.revisions).size, 250);
      const records = await listAll(store, { owner: unique, limit: 100 });
      expectKeys(records, keys);
      for (const record of records) {
        assert.ok(record.value === value, "the value is to come back whole");
        assert.equal(record.revision, answer.revisions[keys.indexOf(record.key)]);
      }
      assert.ok(
        (
          await writeBatch(
            store,
            keys.map((key) => deleteOf(key)),
          )
        ).ok,
      );
      expectKeys(await listAll(store, { owner: unique, limit: 100 }), []);
    },
  },
  {
    title: "lets one of many batches on the same keys through",
    async run({ store, unique }) {
      if (!store.batch) return;
      const keys = ["a", "b", "c"].map((letter) => unique + letter);
      let before: readonly (string | null)[] = [null, null, null];
      for (let round = 0; round < 5; round += 1) {
        const revisions = before;
        const attempts = Array.from({ length: 8 }, async (_, n) => {
          const writes = keys.map((key, index) => putOf(key, n, revisions[index] ?? null));
          // In both orders, which invites a deadlock.
          const answer = await store.batch!(n % 2 === 0 ? writes : writes.toReversed());
          return answer.ok && (n % 2 === 0 ? answer.revisions : answer.revisions.toReversed());
        });
        const done = (await Promise.all(attempts)).filter((revision) => revision !== false);
        assert.equal(done.length, 1, "one batch is to succeed");
        before = done[0]!.map((revision) => revision!);
        const values = await Promise.all(keys.map(async (key) => (await store.get(key))?.value));
        assert.equal(new Set(values).size, 1, "all values are to be of that batch");
      }
    },
  },
  {
    title: "refuses a batch that is none, and names the write",
    async run({ store, unique }) {
      if (!store.batch) return;
      const good = putOf(unique, 1);
      const cases: readonly [unknown, string][] = [
        [[], "writes"],
        [undefined, "writes"],
        [Array.from({ length: 251 }, (_, n) => deleteOf(unique + n)), "writes"],
        [[good, putOf(unique, 2)], "writes[1].key"],
        [[good, deleteOf(`${unique}a`), deleteOf(unique)], "writes[2].key"],
        [[good, deleteOf("\ud83d")], "writes[1].key"],
        [[{ ...good, key: "x".repeat(1_001) }], "writes[0].key"],
        [[good, { ...deleteOf(`${unique}a`), ifRevision: 5 }], "writes[1].ifRevision"],
        [[{ ...good, owner: undefined }], "writes[0].owner"],
        [[{ ...good, ifRevision: undefined }], "writes[0].ifRevision"],
        [[{ ...good, expiresAt: 0.5 }], "writes[0].expiresAt"],
        [[good, { ...good, key: `${unique}a`, type: "touch" }], "writes[1].type"],
        [[good, null], "writes[1].type"],
      ];
      for (const [writes, field] of cases) {
        await expectRejection("CONNECTION_INVALID", field, () => store.batch!(writes as []));
      }
      const tooLarge = { ...good, key: `${unique}a`, value: "x".repeat(1_000_000) };
      await expectRejection("STATE_INVALID", "writes[1].value", () =>
        store.batch!([good, tooLarge]),
      );
      assert.equal(await store.get(unique), undefined);
    },
  },
];

/** Makes batches that count up two keys, until one fails. */
export async function saveBatchesUntilItFails(
  store: SessionStore,
  keys: readonly [string, string],
): Promise<{ readonly confirmed: number; readonly tried: number }> {
  let confirmed = -1;
  for (let revisions: readonly (string | null | undefined)[] = [null, null]; ;) {
    const tried = confirmed + 1;
    try {
      const answer = await store.batch!(
        keys.map((key, index) => putOf(key, tried, revisions[index] ?? null)),
      );
      assert.ok(answer.ok, "the batch is to succeed");
      revisions = answer.revisions;
      confirmed = tried;
    } catch (error) {
      if ((error as { code?: unknown }).code !== "STORE_FAILED") throw error;
      return { confirmed, tried };
    }
  }
}
