import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { McpSessionError } from "@durable-mcp/core";
import type { JsonValue, SessionStore } from "@durable-mcp/core";
import { saveBatchesUntilItFails } from "./batch-tests.ts";
import { expectAllToFail, expectKeys, listAll, put } from "./expectations.ts";
import { withCalls } from "./notice-tests.ts";
import type { StoreTest } from "./store-test.ts";

/** A server that the tests may stop and start. No other tests may run on it meanwhile. */
export interface StoreServer {
  /** Ends it like a crash: `kill -9`. */
  kill(): Promise<void>;
  /** Starts it again at the same address with the same data. */
  start(): Promise<void>;
}

/** A server that goes down and comes back. */
export function killedServerTests(server: StoreServer): readonly StoreTest[] {
  return [
    {
      title: "fails with STORE_FAILED while its server is down, and works when that is back",
      async run({ store, unique }) {
        const revision = await put(store, unique, "kept", null, { owner: unique });
        await server.kill();
        try {
          await expectAllToFail(store);
        } finally {
          await server.start();
        }
        assert.deepEqual(await untilItWorks(() => store.get(unique)), { value: "kept", revision });
        await put(store, unique, 2, revision, { owner: unique });
        expectKeys(await listAll(store, { owner: unique, limit: 1 }), [unique]);
      },
    },
    {
      title: "has what it said was saved when its server is killed in the middle of saves",
      async run({ store, unique }) {
        const keys = Array.from({ length: 4 }, (_, n) => `${unique}${n}`);
        const saving = Promise.all(keys.map((key) => saveUntilItFails(store, key)));
        await sleep(300);
        await server.kill();
        const saved = await saving;
        await server.start();
        for (const [n, { confirmed, tried }] of saved.entries()) {
          assert.ok(confirmed >= 0, "there is to be something to lose");
          const stored = await untilItWorks(() => store.get(keys[n]!));
          // The last save may have been done without an answer.
          assert.ok(
            stored?.value === confirmed || stored?.value === tried,
            "nothing is to be lost",
          );
        }
      },
    },
    {
      title: "makes a batch as a whole or not at all when its server is killed in the middle",
      async run({ store, unique }) {
        if (!store.batch) return;
        const keys = [`${unique}a`, `${unique}b`] as const;
        const saving = saveBatchesUntilItFails(store, keys);
        await sleep(200);
        await server.kill();
        const { confirmed, tried } = await saving;
        await server.start();
        assert.ok(confirmed >= 0, "there is to be something to lose");
        const [a, b] = await Promise.all(keys.map((key) => untilItWorks(() => store.get(key))));
        assert.equal(a?.value, b?.value);
        assert.ok(a?.value === confirmed || a?.value === tried, "nothing is to be lost");
      },
    },
    {
      title: "calls subscribers when the server is back, and hears new notices",
      async run({ store, open, unique }) {
        if (!store.subscribe) return;
        await withCalls(store, unique, async ({ count, reach }) => {
          await reach(1);
          await server.kill();
          const before = count();
          await server.start();
          // What was published meanwhile may have been missed.
          await reach(before + 1);
          const { store: other } = await open();
          for (let round = 0; round < 3; round += 1) {
            const heard = count();
            await untilItWorks(() => other.publish!(unique));
            await reach(heard + 1);
          }
        });
      },
    },
  ];
}

/** Counts up until a put fails. */
async function saveUntilItFails(store: SessionStore, key: string) {
  let confirmed = -1;
  for (let revision: string | null = null; ;) {
    const tried: JsonValue = confirmed + 1;
    try {
      revision = await put(store, key, tried, revision);
      confirmed = tried;
    } catch (error) {
      if (!McpSessionError.isInstance(error)) throw error;
      assert.equal(error.code, "STORE_FAILED");
      return { confirmed, tried };
    }
  }
}

/** Tries again for a while, because a client may need a moment to find its server again. */
async function untilItWorks<T>(run: () => Promise<T>): Promise<T> {
  for (const deadline = Date.now() + 30_000; ;) {
    try {
      return await run();
    } catch (error) {
      if (!McpSessionError.isInstance(error) || error.code !== "STORE_FAILED") throw error;
      if (Date.now() > deadline) throw error;
      await sleep(100);
    }
  }
}
