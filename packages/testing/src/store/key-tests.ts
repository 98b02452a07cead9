import assert from "node:assert/strict";
import { expectKeys, expectRejection, listAll, put } from "./expectations.ts";
import type { StoreTest } from "./store-test.ts";

/** Texts with a meaning in some database, pattern or encoding. They must have none here. */
const hostile = [
  " ",
  "a",
  "A",
  "ä",
  "a\u0308",
  "%",
  "_",
  "a%",
  "a_",
  "a*",
  "a?",
  "a[b-z]",
  "a.c",
  "abc",
  "'",
  "''",
  '"',
  "`",
  "\\",
  "\\\\",
  "\\0",
  "\\%",
  "\0",
  "\0\0",
  "a\0",
  "a\0b",
  "\u0001",
  "\n",
  "\r\n",
  "\t",
  "\u007f",
  "\u0080",
  "\ud7ff",
  "\ue000",
  "\uffff",
  "😀",
  "😁",
  "\u{10ffff}",
  "\u{10ffff}a",
  "$1",
  "$key",
  ":key",
  "?",
  "{0}",
  "{tag}",
  "}{",
  "[",
  "(",
  "-",
  "+",
  "--",
  ";",
  "'; DROP TABLE mcp_sessions; --",
  "__proto__",
  "constructor",
  "toString",
  "null",
  "undefined",
  "0",
  "1e3",
  '["a","b"]',
  "漢字",
  "ﷺ",
  "e\u200d",
  "\u202e",
];

/** Every text can be a key and an owner, and equals only itself. */
export const keyTests: readonly StoreTest[] = [
  {
    title: "tells hostile keys apart",
    async run({ store, unique }) {
      const revisions = new Map<string, string>();
      for (const key of hostile) revisions.set(key, await put(store, unique + key, key));
      for (const key of hostile) {
        assert.deepEqual(await store.get(unique + key), {
          value: key,
          revision: revisions.get(key),
        });
      }
      const records = await listAll(store, { prefix: unique, limit: 7 });
      expectKeys(
        records,
        hostile.map((key) => unique + key),
      );
      for (const key of hostile) {
        const revision = await put(store, unique + key, "again", revisions.get(key));
        assert.deepEqual(await store.delete(unique + key, revision), { ok: true });
        assert.equal(await store.get(unique + key), undefined);
      }
      expectKeys(await listAll(store, { prefix: unique, limit: 7 }), []);
    },
  },
  {
    title: "takes a prefix literally",
    async run({ store, unique }) {
      for (const key of hostile) await put(store, unique + key, 1);
      for (const prefix of hostile) {
        const records = await listAll(store, { prefix: unique + prefix, limit: 5 });
        const matching = hostile.filter((key) => key.startsWith(prefix));
        expectKeys(
          records,
          matching.map((key) => unique + key),
        );
      }
    },
  },
  {
    title: "takes an owner literally",
    async run({ store, unique }) {
      for (const owner of hostile)
        await put(store, unique + owner, 1, null, { owner: unique + owner });
      for (const owner of hostile) {
        const records = await listAll(store, { owner: unique + owner, limit: 5 });
        expectKeys(records, [unique + owner]);
        assert.equal(records[0]?.owner, unique + owner);
      }
    },
  },
  {
    title: "takes a prefix literally among the keys of an owner and among idle ones",
    async run({ store, unique }) {
      for (const key of hostile) {
        await put(store, unique + key, 1, null, { owner: unique });
        await store.touch(unique + key, Date.now() + 60_000);
      }
      const idleSince = Date.now() + 120_000;
      for (const prefix of hostile) {
        const matching = hostile.filter((key) => key.startsWith(prefix));
        for (const query of [{ owner: unique }, { idleSince }, { owner: unique, idleSince }]) {
          const records = await listAll(store, { ...query, prefix: unique + prefix, limit: 5 });
          expectKeys(
            records,
            matching.map((key) => unique + key),
          );
        }
      }
    },
  },
  {
    title: "does not confuse an owner and a key with other ways to cut the same text",
    async run({ store, unique }) {
      await put(store, `${unique}a`, 1, null, { owner: `${unique}1:` });
      await put(store, `${unique}b`, 1, null, { owner: `${unique}1:${unique}` });
      await put(store, `${unique}c`, 1, null, { owner: unique });
      expectKeys(await listAll(store, { owner: `${unique}1:`, limit: 5 }), [`${unique}a`]);
      expectKeys(await listAll(store, { owner: `${unique}1:${unique}`, limit: 5 }), [`${unique}b`]);
      expectKeys(await listAll(store, { owner: unique, limit: 5 }), [`${unique}c`]);
    },
  },
  {
    title: "holds keys and owners of 1,000 characters",
    async run({ store, unique }) {
      // Three bytes each in UTF-8, and nothing that compresses.
      const random = crypto.getRandomValues(new Uint16Array(1_000 - unique.length - 1));
      const long = unique + String.fromCharCode(...random.map((n) => 0x4e_00 + (n % 0x50_00)));
      for (const letter of ["a", "b", "\\", "\0"]) {
        const key = long + letter;
        const revision = await put(store, key, letter, null, { owner: key });
        assert.deepEqual(await store.get(key), { value: letter, revision });
        expectKeys(await listAll(store, { prefix: key, limit: 1 }), [key]);
        expectKeys(await listAll(store, { owner: key, limit: 1 }), [key]);
      }
      expectKeys(
        await listAll(store, { prefix: long, limit: 1 }),
        ["a", "b", "\\", "\0"].map((letter) => long + letter),
      );
    },
  },
  {
    title: "knows the empty key and the empty owner",
    async run({ store, unique }) {
      await store.delete("");
      const revision = await put(store, "", unique, null, { owner: "" });
      assert.deepEqual(await store.get(""), { value: unique, revision });
      const ofNobody = await listAll(store, { owner: "", limit: 3 });
      assert.equal(ofNobody.filter(isEmpty).length, 1);
      assert.equal((await listAll(store, { limit: 1_000 })).filter(isEmpty).length, 1);
      assert.deepEqual(await store.delete("", revision), { ok: true });
      assert.equal((await listAll(store, { limit: 1_000 })).some(isEmpty), false);
    },
  },
  {
    title: "refuses with CONNECTION_INVALID what no database could hold or find again",
    async run({ store, unique }) {
      for (const text of [
        "\ud83d",
        `${unique}\ude00\ud83d`,
        "x".repeat(1_001),
        undefined,
        1,
        null,
      ]) {
        const wrong = text as string;
        await expectRejection("CONNECTION_INVALID", "key", () => store.get(wrong));
        await expectRejection("CONNECTION_INVALID", "key", () => store.touch(wrong, 1));
        await expectRejection("CONNECTION_INVALID", "key", () => store.delete(wrong));
        await expectRejection("CONNECTION_INVALID", "key", () =>
          store.put(wrong, 1, null, { owner: "o" }),
        );
        await expectRejection("CONNECTION_INVALID", "owner", () =>
          store.put(unique, 1, null, { owner: wrong }),
        );
      }
      for (const options of [undefined, null] as unknown[]) {
        await expectRejection("CONNECTION_INVALID", "owner", () =>
          store.put(unique, 1, null, options as { owner: string }),
        );
      }
      assert.equal(await store.get(unique), undefined);
    },
  },
];

function isEmpty({ key }: { readonly key: string }): boolean {
  return key === "";
}
