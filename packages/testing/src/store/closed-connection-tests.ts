import assert from "node:assert/strict";
import { expectAllToFail, put } from "./expectations.ts";
import type { StoreTest } from "./store-test.ts";

/** An unusable store reports so. */
export const closedConnectionTests: readonly StoreTest[] = [
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
