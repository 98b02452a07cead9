import assert from "node:assert/strict";
import type { JsonValue } from "@durable-mcp/core";
import { put } from "./expectations.ts";
import { withCalls } from "./notice-tests.ts";
import { type StoreWorker, startStoreWorker } from "./store-worker.ts";
import type { StoreTest } from "./store-test.ts";

/** How other processes open the store. */
export interface StoreProcesses {
  /** A module whose default export takes `data` and returns an `OpenedStore`, or a promise of it. */
  readonly module: URL;
  /** Data for the processes, such as a path or a port. @default null */
  readonly data?: (() => JsonValue) | undefined;
  /** Options for Node, such as `["--import", "tsx"]`. @default [] */
  readonly execArgv?: readonly string[] | undefined;
}

const processCount = 6;

/** Six processes on one store. */
export function processTests(processes: StoreProcesses): readonly StoreTest[] {
  const withWorkers = async (
    run: (workers: readonly StoreWorker[]) => Promise<void>,
    count = processCount,
  ) => {
    const workers = Array.from({ length: count }, () => startStoreWorker(processes));
    try {
      // They all open the store at the same moment.
      await Promise.all(workers.map((worker) => worker.ready));
      await Promise.all(workers.map((worker) => worker.ask({ task: "open" })));
      await run(workers);
    } finally {
      for (const worker of workers) worker.kill();
    }
  };
  return [
    {
      title: "loses no update of six processes that count up at once",
      run: ({ store, unique }) =>
        withWorkers(async (workers) => {
          await put(store, unique, 0);
          const times = 25;
          const conflicts = await Promise.all(
            workers.map((worker) => worker.ask({ task: "count", key: unique, times })),
          );
          assert.equal((await store.get(unique))?.value, processCount * times);
          // Had they taken turns, nothing would be proven.
          assert.ok(
            conflicts.some((count) => count > 0),
            "the processes are to be in each other's way",
          );
        }),
    },
    {
      title: "keeps two values equal that six processes count up in batches",
      run: ({ store, unique }) =>
        withWorkers(async (workers) => {
          if (!store.batch) return;
          const keys = [`${unique}a`, `${unique}b`] as const;
          for (const key of keys) await put(store, key, 0);
          const times = 8;
          const conflicts = await Promise.all(
            workers.map((worker) => worker.ask({ task: "count both", keys, times })),
          );
          for (const key of keys) {
            assert.equal((await store.get(key))?.value, processCount * times);
          }
          assert.ok(
            conflicts.some((count) => count > 0),
            "the processes are to be in each other's way",
          );
        }),
    },
    {
      title: "calls the subscribers of one process when another publishes",
      run: ({ store, unique }) =>
        withWorkers(async (workers) => {
          if (!store.subscribe) return;
          await withCalls(store, unique, async ({ count, reach }) => {
            await reach(1);
            for (const worker of [...workers, ...workers]) {
              const before = count();
              await worker.ask({ task: "publish", topic: unique });
              await reach(before + 1);
            }
          });
        }, 1),
    },
    {
      title: "lets one of six processes create a record that all create at once",
      run: ({ store, unique }) =>
        withWorkers(async (workers) => {
          for (let round = 0; round < 20; round += 1) {
            const key = `${unique}${round}`;
            const created = await Promise.all(
              workers.map((worker, index) => worker.ask({ task: "create", key, value: index })),
            );
            assert.equal(
              created.reduce((sum, count) => sum + count, 0),
              1,
            );
            assert.equal((await store.get(key))?.value, created.indexOf(1));
          }
        }),
    },
    {
      title: "lets one of six processes delete a revision that all delete at once",
      run: ({ store, unique }) =>
        withWorkers(async (workers) => {
          for (let round = 0; round < 20; round += 1) {
            const key = `${unique}${round}`;
            const revision = await put(store, key, round);
            const deleted = await Promise.all(
              workers.map((worker) => worker.ask({ task: "delete", key, revision })),
            );
            assert.equal(
              deleted.reduce((sum, count) => sum + count, 0),
              1,
            );
            assert.equal(await store.get(key), undefined);
          }
        }),
    },
  ];
}
