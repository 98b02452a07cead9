import assert from "node:assert/strict";
import { setTimeout } from "node:timers/promises";
import type { JsonValue } from "@durable-mcp/core";
import { expectRejection, put } from "./expectations.ts";
import type { StoreTest } from "./store-test.ts";

const values: readonly JsonValue[] = [
  null,
  true,
  false,
  0,
  -1.5,
  1e300,
  Number.MAX_SAFE_INTEGER,
  "",
  "text",
  [],
  {},
  [[[]]],
  { "": { "": null } },
  { a: [1, "2", { b: null }], "key with 'quotes' and \"quotes\"": "\\" },
  "\0 \u0001 \u001f \u007f \u2028 \u{10ffff} \ufeff",
  "a lone surrogate: \ud83d",
  "'; DROP TABLE mcp_sessions; -- %s $1 ? {0}",
  "😀".repeat(1_000),
];

/** A store returns values unchanged. */
export const valueTests: readonly StoreTest[] = [
  {
    title: "gives every kind of JSON value back as it was",
    async run({ store, open, unique }) {
      const { store: other } = await open();
      for (const [index, value] of values.entries()) {
        const key = `${unique}${index}`;
        const revision = await put(store, key, value);
        assert.deepEqual(await other.get(key), { value, revision });
      }
    },
  },
  {
    title: "keeps a member named __proto__ and sets no prototype",
    async run({ store, unique }) {
      const value = JSON.parse('{"__proto__":{"polluted":true},"constructor":{"prototype":1}}');
      await put(store, unique, value);
      const back = (await store.get(unique))?.value as object;
      assert.equal(Object.getPrototypeOf(back), Object.prototype);
      assert.equal(JSON.stringify(back), JSON.stringify(value));
      assert.equal("polluted" in {}, false);
    },
  },
  {
    title: "keeps a copy: what is done to a value later is not stored",
    async run({ store, unique }) {
      const value = { list: [1] };
      await put(store, unique, value);
      value.list.push(2);
      const first = (await store.get(unique))?.value as { list: number[] };
      assert.deepEqual(first, { list: [1] });
      first.list.push(3);
      assert.deepEqual((await store.get(unique))?.value, { list: [1] });
    },
  },
  {
    title: "holds a value of 1,000,000 characters of JSON, or of the store's maxBytes",
    async run({ store, unique }) {
      const { maxBytes = Infinity } = store;
      for (const [letter, bytes] of [
        ["x", 1],
        ["é", 2],
        ["漢", 3],
      ] as const) {
        const value = letter.repeat(Math.min(1_000_000 - 2, Math.floor((maxBytes - 2) / bytes)));
        const key = unique + letter;
        const revision = await put(store, key, value);
        assert.ok((await store.get(key))?.value === value, "the value is to come back whole");
        const { records } = await store.list({ prefix: key, limit: 1 });
        assert.ok(records[0]?.value === value && records[0].revision === revision);
        await store.delete(key);
      }
    },
  },
  {
    title: "refuses a larger value with STATE_INVALID, and keeps what it has",
    async run({ store, unique }) {
      const revision = await put(store, unique, 1);
      await expectRejection("STATE_INVALID", "value", () =>
        store.put(unique, "x".repeat(1_000_000 - 1), revision, { owner: "o" }),
      );
      const { maxBytes } = store;
      const value = "漢".repeat(Math.ceil((maxBytes ?? 3_000_000) / 3));
      await expectRejection("STATE_INVALID", "value", () =>
        store.put(unique, value, revision, { owner: "o" }),
      );
      assert.deepEqual(await store.get(unique), { value: 1, revision });
    },
  },
  {
    title: "reads many values at once, in the order of their keys",
    async run({ store, unique }) {
      if (!store.getMany) return;
      const revisions = [await put(store, `${unique}0`, [0]), await put(store, `${unique}1`, "é")];
      const time = Date.now();
      await store.put(`${unique}old`, 1, null, { owner: "o", expiresAt: time + 30 });
      while (Date.now() <= time + 30) await setTimeout(10);
      const keys = [`${unique}1`, `${unique}none`, `${unique}0`, `${unique}old`, `${unique}1`];
      const last = { value: "é", revision: revisions[1]! };
      assert.deepEqual(await store.getMany(keys), [
        last,
        undefined,
        { value: [0], revision: revisions[0]! },
        undefined,
        last,
      ]);
      const many = Array.from({ length: 150 }, (_, index) => `${unique}many ${index}`);
      await Promise.all(many.map((key, index) => put(store, key, index)));
      const found = await store.getMany(many);
      assert.deepEqual(
        found.map((stored) => stored?.value),
        [...many.keys()],
      );
      for (const wrong of [[], [5], "k", ["\ud83d"]])
        await expectRejection("CONNECTION_INVALID", undefined, () =>
          store.getMany!(wrong as never),
        );
    },
  },
  {
    title: "refuses what is not JSON with STATE_INVALID",
    async run({ store, unique }) {
      const circle: unknown[] = [];
      circle.push(circle);
      for (const value of [undefined, () => 1, Symbol("s"), 1n, circle]) {
        await expectRejection("STATE_INVALID", "value", () =>
          store.put(unique, value as JsonValue, null, { owner: "o" }),
        );
      }
      assert.equal(await store.get(unique), undefined);
    },
  },
];
