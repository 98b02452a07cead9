import assert from "node:assert/strict";
import { expectConflict, expectKeys, listAll, put } from "./expectations.ts";
import type { StoreTest } from "./store-test.ts";

const hour = 3_600_000;

/** None is JSON. */
const texts = [
  "",
  "not JSON",
  "undefined",
  '{"version":1,"snapshot":{"kind":"sess',
  '{"version":1} and more',
  "{'version':1}",
  "[object Object]",
];

/** A value of somebody else, a truncated one: it counts as none, and disturbs nobody. */
export function unreadableTests(
  plant: (key: string, text: string) => Promise<void>,
): readonly StoreTest[] {
  return [
    {
      title: "reads a value that is not JSON as null, and lets it be replaced",
      async run({ store, unique }) {
        const warned = await collectWarnings(async () => {
          for (const text of texts) {
            await put(store, unique, "before", null, { owner: unique });
            await plant(unique, text);
            const stored = await store.get(unique);
            assert.equal(stored?.value, null);
            const { revision } = stored;
            assert.equal(typeof revision, "string");
            expectConflict(await store.put(unique, 1, null, { owner: unique }), stored);
            expectConflict(await store.delete(unique, "another"), stored);
            await store.touch(unique, Date.now());
            const next = await put(store, unique, 2, revision, { owner: unique });
            assert.deepEqual(await store.get(unique), { value: 2, revision: next });
            assert.deepEqual(await store.delete(unique, next), { ok: true });
          }
        });
        assert.ok(!warned.includes(unique), "a warning is to repeat no key and no owner");
        assert.ok(!warned.includes("snapshot"), "a warning is to repeat nothing of the value");
      },
    },
    {
      title: "lists the others beside a value that is not JSON, and lets it be deleted",
      async run({ store, unique }) {
        await collectWarnings(async () => {
          const keys = Array.from({ length: 5 }, (_, n) => unique + n);
          for (const key of keys) await put(store, key, key, null, { owner: unique });
          await plant(keys[2]!, "not JSON");
          for (const query of [
            { prefix: unique },
            { owner: unique },
            { prefix: unique, idleSince: Date.now() + hour },
          ]) {
            const records = await listAll(store, { ...query, limit: 2 });
            expectKeys(records, keys);
            for (const { key, value } of records) {
              assert.equal(value, key === keys[2] ? null : key);
            }
          }
          const { records } = await store.list({ prefix: keys[2]!, limit: 1 });
          assert.deepEqual(await store.delete(keys[2]!, records[0]!.revision), { ok: true });
          expectKeys(await listAll(store, { owner: unique, limit: 9 }), keys.toSpliced(2, 1));
        });
      },
    },
  ];
}

/** What is said on the console while `run` runs. */
async function collectWarnings(run: () => Promise<void>): Promise<string> {
  const { warn } = console;
  const lines: string[] = [];
  console.warn = (...args: unknown[]) => void lines.push(args.join(" "));
  try {
    await run();
  } finally {
    console.warn = warn;
  }
  return lines.join("\n");
}
