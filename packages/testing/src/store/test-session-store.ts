import assert from "node:assert/strict";
import { batchTests } from "./batch-tests.ts";
import { compareAndSetTests } from "./compare-and-set-tests.ts";
import { expectAllToFail, put } from "./expectations.ts";
import { expiryTests } from "./expiry-tests.ts";
import { keyTests } from "./key-tests.ts";
import { listTests } from "./list-tests.ts";
import { processTests, type StoreProcesses } from "./process-tests.ts";
import { killedServerTests, type StoreServer } from "./killed-server-tests.ts";
import { noticeTests } from "./notice-tests.ts";
import type { OpenedStore, StoreTest } from "./store-test.ts";
import { unreadableTests } from "./unreadable-tests.ts";
import { valueTests } from "./value-tests.ts";

interface DeclareTest {
  (title: string, run: () => Promise<void>, timeoutMs?: number): unknown;
  /** Shows what is left out. */
  readonly skip?: ((title: string, run: () => Promise<void>) => unknown) | undefined;
}

/** Options of `testSessionStore`. */
export interface TestSessionStoreOptions {
  /** `test` of Vitest, of Jest or of `node:test`. */
  readonly test: DeclareTest;
  /** Opens the store, always on the same data, with existing tables. It need not be empty. */
  readonly open: () => OpenedStore | Promise<OpenedStore>;
  /**
   * How other processes open the store. Without it the tests with six processes are left out, and a skipped test says
   * so. `false` leaves them out in silence, such as for a store that only one process has.
   */
  readonly processes?: StoreProcesses | false | undefined;
  /** Whether the store has a connection that `close` closes. @default true */
  readonly hasConnection?: boolean | undefined;
  /**
   * Puts a text in the place of a stored value, past the store: as another program would, or a crash. Without it
   * the tests with values that are not JSON are left out, and a skipped test says so. `false` leaves them out in
   * silence, such as for a store that keeps no texts.
   */
  readonly plant?: ((key: string, text: string) => Promise<void>) | false | undefined;
  /** The server behind the store. Without it, the tests that kill a server are left out. */
  readonly server?: StoreServer | undefined;
}

/**
 * Declares the tests that every `SessionStore` passes. Each test uses keys and owners of its own and
 * leaves nothing else behind, so they can run on a database that is in use.
 *
 * Runs under Node. The tests with processes take seconds.
 *
 * @example
 * describe("my store", () => testSessionStore({ test, open: () => openMyStore() }));
 */
export function testSessionStore({
  test,
  open,
  processes,
  hasConnection = true,
  plant,
  server,
}: TestSessionStoreOptions): void {
  const declare = ({ title, run }: StoreTest) =>
    test(
      title,
      async () => {
        const opened: OpenedStore[] = [];
        const openOne = async () => {
          const one = await open();
          opened.push(one);
          return one;
        };
        try {
          const { store } = await openOne();
          await run({ store, open: openOne, unique: `test ${crypto.randomUUID()} ` });
        } finally {
          await Promise.allSettled(opened.map(async (one) => one.close?.()));
        }
      },
      60_000,
    );

  const tests = [
    ...compareAndSetTests,
    ...valueTests,
    ...keyTests,
    ...expiryTests,
    ...listTests,
    ...batchTests,
    ...noticeTests,
    ...(plant ? unreadableTests(plant) : []),
    ...(hasConnection ? closedConnectionTests : []),
    ...(processes ? processTests(processes) : []),
    ...(server === undefined ? [] : killedServerTests(server)),
  ];
  for (const each of tests) declare(each);
  const missing = Object.entries({ processes, plant }).filter(([, given]) => given === undefined);
  for (const [option] of missing)
    test.skip?.(`left out, for want of the option ${option}`, async () => {});
}

/** An unusable store reports so. */
const closedConnectionTests: readonly StoreTest[] = [
  {
    title: "fails with STORE_FAILED when its connection was closed",
    async run({ store, open, unique }) {
      const { store: other, close } = await open();
      await put(other, unique, 1);
      await close!();
      await expectAllToFail(other);
      // The connection of another opener is not affected.
      assert.equal((await store.get(unique))?.value, 1);
    },
  },
  {
    title: "fails with STORE_FAILED when its connection was closed before it was used",
    async run({ open }) {
      const { store, close } = await open();
      await close!();
      await expectAllToFail(store);
    },
  },
];
