import assert from "node:assert/strict";
import type { SessionStore } from "@durable-mcp/core";
import type { StoreTest } from "./store-test.ts";
import { expectConflict, expectStored, put } from "./expectations.ts";

/** `get`, `put`, `touch` and `delete` of one record. */
export const compareAndSetTests: readonly StoreTest[] = [
  {
    title: "gives nothing for a key that was never put",
    async run({ store, unique }) {
      assert.equal(await store.get(unique), undefined);
    },
  },
  {
    title: "gives back what was put, with its revision",
    async run({ store, unique }) {
      const revision = await put(store, unique, { n: 1 });
      assert.deepEqual(await store.get(unique), { value: { n: 1 }, revision });
    },
  },
  {
    title: "shows what one opener put to another",
    async run({ store, open, unique }) {
      const { store: other } = await open();
      const revision = await put(store, unique, 1);
      assert.deepEqual(await other.get(unique), { value: 1, revision });
    },
  },
  {
    title: "replaces a value whose revision is named",
    async run({ store, unique }) {
      const first = await put(store, unique, 1);
      const second = await put(store, unique, 2, first);
      assert.notEqual(second, first);
      assert.deepEqual(await store.get(unique), { value: 2, revision: second });
    },
  },
  {
    title: "answers with what is stored when something is and nothing was expected",
    async run({ store, unique }) {
      const revision = await put(store, unique, 1);
      const answer = await store.put(unique, 2, null, { owner: "o" });
      expectConflict(answer, { value: 1, revision });
      await expectStored(store, unique, 1, revision);
    },
  },
  {
    title: "answers with what is stored when another revision was expected",
    async run({ store, unique }) {
      const first = await put(store, unique, 1);
      const second = await put(store, unique, 2, first);
      const answer = await store.put(unique, 3, first, { owner: "o" });
      expectConflict(answer, { value: 2, revision: second });
      await expectStored(store, unique, 2, second);
    },
  },
  {
    title: "answers that nothing is stored when a revision was expected",
    async run({ store, unique }) {
      const revision = await put(store, unique, 1);
      await store.delete(unique);
      expectConflict(await store.put(unique, 2, revision, { owner: "o" }), undefined);
      assert.equal(await store.get(unique), undefined);
    },
  },
  {
    title: "takes any text for a revision, and knows which it did not give",
    async run({ store, unique }) {
      const revision = await put(store, unique, 1);
      for (const strange of ["", "0", "null", "%", "' OR 1=1 --", "\0", `${revision}\0`, "*"]) {
        const answer = await store.put(unique, 2, strange, { owner: "o" });
        expectConflict(answer, { value: 1, revision });
        expectConflict(await store.delete(unique, strange), { value: 1, revision });
      }
    },
  },
  {
    title: "lets one of many puts of one store through",
    async run({ store, unique }) {
      let before: string | null = null;
      for (let round = 0; round < 5; round += 1) {
        before = await putAtOnce(store, unique, before);
      }
    },
  },
  {
    title: "never gives a revision of a key a second time",
    async run({ store, unique }) {
      // Otherwise a late writer with the old revision would hit the new record.
      const seen = new Set<string>();
      for (let round = 0; round < 20; round += 1) {
        const first = await put(store, unique, "same");
        const second = await put(store, unique, "same", first);
        seen.add(first).add(second);
        await store.delete(unique);
      }
      assert.equal(seen.size, 40, "each put is to have a revision of its own");
    },
  },
  {
    title: "keeps the revision when a value is touched",
    async run({ store, unique }) {
      const revision = await put(store, unique, 1);
      await store.touch(unique, Date.now() + 60_000);
      await expectStored(store, unique, 1, revision);
      await put(store, unique, 2, revision);
    },
  },
  {
    title: "makes nothing of a touch without a value",
    async run({ store, unique }) {
      await store.touch(unique, Date.now());
      assert.equal(await store.get(unique), undefined);
      assert.deepEqual((await store.list({ prefix: unique, limit: 10 })).records, []);
    },
  },
  {
    title: "deletes what is there, and takes what is not for deleted",
    async run({ store, unique }) {
      await put(store, unique, 1);
      assert.deepEqual(await store.delete(unique), { ok: true });
      assert.equal(await store.get(unique), undefined);
      assert.deepEqual(await store.delete(unique), { ok: true });
    },
  },
  {
    title: "deletes only the revision that is named",
    async run({ store, unique }) {
      const first = await put(store, unique, 1);
      const second = await put(store, unique, 2, first);
      expectConflict(await store.delete(unique, first), { value: 2, revision: second });
      await expectStored(store, unique, 2, second);
      assert.deepEqual(await store.delete(unique, second), { ok: true });
      expectConflict(await store.delete(unique, second), undefined);
    },
  },
];

/** Makes eight puts on one revision. Exactly one has to succeed. Returns the new revision. */
async function putAtOnce(
  store: SessionStore,
  key: string,
  ifRevision: string | null,
): Promise<string> {
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, n) => store.put(key, n, ifRevision, { owner: "an owner" })),
  );
  const done = answers.filter((answer) => answer.ok);
  assert.equal(done.length, 1, "one put is to succeed");
  return done[0]!.revision;
}
