import assert from "node:assert/strict";
import type { SessionStore, StoreListQuery } from "@durable-mcp/core";
import { expectKeys, expectRejection, listAll, put } from "./expectations.ts";
import type { StoreTest } from "./store-test.ts";

const hour = 3_600_000;

/** Listing returns the matching records, page by page, even while others write. */
export const listTests: readonly StoreTest[] = [
  {
    title: "lists what a record is",
    async run({ store, unique }) {
      const before = Date.now();
      const revision = await put(store, unique, { n: 1 }, null, { owner: unique });
      const { records, cursor } = await store.list({ prefix: unique, limit: 10 });
      assert.equal(cursor, undefined);
      assert.equal(records.length, 1);
      const { key, value, owner, lastUsedAt } = records[0]!;
      assert.deepEqual({ key, value, owner }, { key: unique, value: { n: 1 }, owner: unique });
      assert.equal(records[0]!.revision, revision);
      // The clock may be that of a server.
      assert.ok(Math.abs(lastUsedAt - before) < hour, "a put is to count as a use");
    },
  },
  {
    title: "takes the time of a put from the caller, but none before the last use",
    async run({ store, unique }) {
      const at = Date.now() - hour;
      const first = await put(store, unique, 1, null, { at });
      assert.equal((await listAll(store, { prefix: unique, limit: 2 }))[0]?.lastUsedAt, at);
      const second = await put(store, unique, 2, first, { at: at + 5 });
      await put(store, unique, 3, second, { at });
      assert.equal((await listAll(store, { prefix: unique, limit: 2 }))[0]?.lastUsedAt, at + 5);
    },
  },
  {
    title: "lists nothing where nothing matches",
    async run({ store, unique }) {
      for (const query of [
        { prefix: unique },
        { owner: unique },
        { prefix: unique, idleSince: hour },
      ]) {
        assert.deepEqual((await store.list({ ...query, limit: 1_000 })).records, []);
      }
    },
  },
  {
    title: "lists by prefix, by owner, by both, and all",
    async run({ store, unique }) {
      const keys = await fill(store, unique, 12);
      const ofFirst = keys.filter((_, index) => index % 3 === 0);
      expectKeys(await listAll(store, { prefix: unique, limit: 5 }), keys);
      expectKeys(
        await listAll(store, { prefix: `${unique}1`, limit: 5 }),
        [1, 10, 11].map((n) => unique + n),
      );
      expectKeys(await listAll(store, { owner: `${unique}owner 0`, limit: 3 }), ofFirst);
      expectKeys(
        await listAll(store, { owner: `${unique}owner 0`, prefix: `${unique}9`, limit: 3 }),
        [`${unique}9`],
      );
      const all = await listAll(store, { limit: 1_000 });
      expectKeys(
        all.filter(({ key }) => key.startsWith(unique)),
        keys,
      );
    },
  },
  {
    title: "gives every page size the same records, each once",
    async run({ store, unique }) {
      const keys = await fill(store, unique, 12);
      for (const limit of [1, 2, 3, 4, 6, 11, 12, 13, 1_000]) {
        for (const query of queriesForAll(unique)) {
          expectKeys(await listAll(store, { ...query, limit }), keys);
        }
      }
    },
  },
  {
    title: "finds what was last used at a time or before, and not what was used after",
    async run({ store, unique }) {
      const start = Date.now() + hour;
      for (let n = 0; n < 6; n += 1) {
        await put(store, unique + n, n, null, { owner: unique });
        await store.touch(unique + n, start + n);
      }
      const keysTo = (last: number) => Array.from({ length: last + 1 }, (_, n) => unique + n);
      for (const last of [-1, 0, 3, 5]) {
        const idleSince = start + last;
        for (const query of [
          { prefix: unique },
          { owner: unique },
          { owner: unique, prefix: unique },
        ]) {
          expectKeys(await listAll(store, { ...query, idleSince, limit: 2 }), keysTo(last));
        }
      }
    },
  },
  {
    title: "says when a record was last touched, unless it was used later already",
    async run({ store, unique }) {
      await put(store, unique, 1);
      const at = Date.now() + hour;
      const lastUsedAt = async () =>
        (await store.list({ prefix: unique, limit: 1 })).records[0]?.lastUsedAt;
      await store.touch(unique, at);
      assert.equal(await lastUsedAt(), at);
      await store.touch(unique, at - 1);
      assert.equal(await lastUsedAt(), at);
      await store.touch(unique, at + 1);
      assert.equal(await lastUsedAt(), at + 1);
    },
  },
  {
    title: "knows the owner of the last put alone",
    async run({ store, unique }) {
      const first = await put(store, unique, 1, null, { owner: `${unique}a` });
      await put(store, unique, 2, first, { owner: `${unique}b` });
      expectKeys(await listAll(store, { owner: `${unique}a`, limit: 5 }), []);
      expectKeys(await listAll(store, { owner: `${unique}b`, limit: 5 }), [unique]);
      await store.delete(unique);
      expectKeys(await listAll(store, { owner: `${unique}b`, limit: 5 }), []);
    },
  },
  {
    title: "lists a record that is there throughout exactly once while others write",
    async run({ store, unique }) {
      for (const query of [
        { prefix: unique },
        { owner: unique },
        { owner: unique, prefix: unique },
      ]) {
        await listWhileWriting(store, unique, query);
      }
    },
  },
  {
    title:
      "lists an idle record exactly once while others write, and none that is used before its turn",
    async run({ store, unique }) {
      for (const start of [unique, `due/${unique}`]) await listIdleWhileWriting(store, start);
    },
  },
  {
    title: "finds by its last use what has a key that begins with due/, beside all others",
    async run({ store, unique }) {
      const start = Date.now() + hour;
      const keyOf = (n: number) => `due/${unique}${n}`;
      const revisions: string[] = [];
      for (let n = 0; n < 6; n += 1) {
        revisions.push(await put(store, keyOf(n), n, null, { owner: unique, at: start + n }));
        await put(store, `due${unique}${n}`, n, null, { at: start });
      }
      const query = { prefix: `due/${unique}`, idleSince: start + 3 };
      const expectDue = async (...expected: number[]) => {
        for (const limit of [1, 2, 3, 1_000]) {
          expectKeys(await listAll(store, { ...query, limit }), expected.map(keyOf));
        }
      };
      await expectDue(0, 1, 2, 3);
      await store.touch(keyOf(0), start + 4);
      await put(store, keyOf(1), 1, revisions[1], { owner: unique, at: start + 5 });
      await store.delete(keyOf(2));
      await expectDue(3);
      await put(store, keyOf(2), 2, null, { owner: unique, at: start });
      await expectDue(2, 3);
      const { records } = await store.list({ ...query, prefix: keyOf(2), limit: 1 });
      assert.equal(records[0]?.lastUsedAt, start);
      for (const prefix of ["", "d", "due", "due/"]) {
        const found = (await listAll(store, { ...query, prefix, limit: 1_000 })).filter(({ key }) =>
          key.includes(unique),
        );
        expectKeys(
          found.filter(({ key }) => key.startsWith("due/")),
          [keyOf(2), keyOf(3)],
        );
        assert.equal(found.length, prefix === "due/" ? 2 : 8);
      }
      await store.delete(keyOf(3), revisions[3]);
      await put(store, keyOf(6), 6, null, { owner: unique, at: start, expiresAt: start - 1 });
      await expectDue(2, 6);
      expectKeys(
        await listAll(store, { prefix: `due/${unique}`, owner: unique, limit: 2 }),
        [0, 1, 2, 4, 5, 6].map(keyOf),
      );
    },
  },
  {
    title: "lists while six writers are at work",
    async run({ store, open, unique }) {
      const keys = await fill(store, unique, 120);
      const done = new AbortController();
      const write = async (writer: number) => {
        const { store: own } = await open();
        for (let n = writer; !done.signal.aborted; n += 7) {
          const key = keys[n % keys.length]!;
          const current = await own.get(key);
          await own.put(key, n, current!.revision, { owner: `${unique}owner ${n % 3}` });
          await own.touch(key, Date.now() + n);
          await own.put(`${unique}stray ${writer}`, n, null, { owner: unique });
          await own.delete(`${unique}stray ${writer}`);
        }
      };
      const writers = Array.from({ length: 6 }, (_, n) => write(n));
      try {
        for (let round = 0; round < 5; round += 1) {
          const records = await listAll(store, { prefix: unique, limit: 11 });
          expectKeys(
            records.filter(({ key }) => !key.includes("stray")),
            keys,
          );
        }
      } finally {
        done.abort();
        await Promise.allSettled(writers);
      }
      await Promise.all(writers);
    },
  },
  {
    title: "goes on after a record that is gone by then",
    async run({ store, unique }) {
      const keys = await fill(store, unique, 10);
      for (const query of queriesForAll(unique)) {
        const first = await store.list({ ...query, limit: 4 });
        assert.ok(first.cursor !== undefined);
        const last = first.records.at(-1)!;
        await store.delete(last.key);
        const rest = await listAll(store, { ...query, cursor: first.cursor, limit: 4 });
        const listed = [...first.records, ...rest];
        expectKeys(listed, keys);
        await put(store, last.key, 1, null, { owner: last.owner });
      }
    },
  },
  {
    title: "lets another opener go on with a cursor",
    async run({ store, open, unique }) {
      const keys = await fill(store, unique, 10);
      const { store: other } = await open();
      const first = await store.list({ prefix: unique, limit: 4 });
      const rest = await other.list({ prefix: unique, limit: 1_000, cursor: first.cursor });
      expectKeys([...first.records, ...rest.records], keys);
    },
  },
  {
    title: "refuses with CONNECTION_INVALID a cursor or a limit that is none",
    async run({ store, unique }) {
      for (const cursor of ["", "x", "null", "{}", "[]", '["a","b"]', '[0,"\\ud800"]', '[-1,""]']) {
        await expectRejection("CONNECTION_INVALID", "cursor", () =>
          store.list({ prefix: unique, limit: 1, cursor }),
        );
      }
      for (const limit of [0, -1, 1.5, 1_001, Number.NaN, Infinity, undefined, "1"]) {
        await expectRejection("CONNECTION_INVALID", "limit", () =>
          store.list({ prefix: unique, limit: limit as number }),
        );
      }
    },
  },
];

/** Puts records `${unique}0` and so on, of three owners in turn. */
async function fill(store: SessionStore, unique: string, count: number): Promise<string[]> {
  const keys = Array.from({ length: count }, (_, n) => unique + n);
  for (const [n, key] of keys.entries()) {
    await put(store, key, n, null, { owner: `${unique}owner ${n % 3}` });
  }
  return keys;
}

function queriesForAll(unique: string) {
  return [{ prefix: unique }, { prefix: unique, idleSince: Date.now() + hour }];
}

/**
 * Between the pages, lasting records are put and touched, and others come and go on both sides of the
 * listing's position.
 */
async function listWhileWriting(
  store: SessionStore,
  unique: string,
  query: Omit<StoreListQuery, "limit">,
): Promise<void> {
  const keys = Array.from({ length: 60 }, (_, n) => `${unique}${n}`);
  const strays = Array.from({ length: 60 }, (_, n) => `${unique}${n} stray`);
  const options = { owner: unique };
  for (const key of keys.flatMap((each, n) => [each, strays[n]!])) {
    const { records } = await store.list({ prefix: key, limit: 1_000 });
    const current = records.find((record) => record.key === key)?.revision ?? null;
    await put(store, key, 1, current, options);
  }
  const records = await listAll(store, { ...query, limit: 7 }, async (page) => {
    for (let n = page; n < keys.length; n += 5) {
      const current = await store.get(keys[n]!);
      await put(store, keys[n]!, page, current!.revision, options);
      await store.touch(keys[n]!, Date.now() + page * 1_000);
    }
    for (let n = page % 4; n < strays.length; n += 4) await store.delete(strays[n]!);
    await put(store, `${unique}${page % 60} new ${page}`, 1, null, options);
  });
  const listed = records.map(({ key }) => key);
  assert.equal(new Set(listed).size, listed.length, "no record is to come twice");
  expectKeys(
    records.filter(({ key }) => keys.includes(key)),
    keys,
  );
  for (const { key } of await listAll(store, { prefix: unique, limit: 1_000 })) {
    if (key.includes("new")) await store.delete(key);
  }
}

/** Between the pages of idle records some are used, and others come and go. */
async function listIdleWhileWriting(store: SessionStore, unique: string): Promise<void> {
  const keys = Array.from({ length: 60 }, (_, n) => `${unique}${n}`);
  for (const key of keys) await put(store, key, 1, null, { owner: unique });
  // Later than any put of this test, so that records put meanwhile are not idle.
  const now = (await store.list({ prefix: unique, limit: 1_000 })).records;
  const idleSince = Math.max(...now.map(({ lastUsedAt }) => lastUsedAt));
  const seen = new Set<string>();
  const used = new Set<string>();
  const records = await listAll(store, { prefix: unique, idleSince, limit: 7 }, async (page) => {
    for (const { key } of (await store.list({ prefix: unique, idleSince, limit: page * 2 }))
      .records) {
      seen.add(key);
    }
    const key = keys[(page * 17) % keys.length]!;
    used.add(key);
    await store.touch(key, idleSince + hour);
    await store.delete(`${unique}new ${page - 1}`);
    await put(store, `${unique}new ${page}`, 1, null, { owner: unique });
    await store.touch(`${unique}new ${page}`, idleSince + hour);
  });
  const listed = records.map(({ key }) => key);
  assert.equal(new Set(listed).size, listed.length, "no record is to come twice");
  for (const key of keys) {
    if (!used.has(key)) assert.ok(listed.includes(key), "an idle record is to be listed");
  }
  assert.ok(
    listed.every((key) => keys.includes(key)),
    "what is in use is not to be listed",
  );
  assert.ok(seen.size > 0);
}
