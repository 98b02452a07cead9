import { describe, test } from "vitest";
import { createMemoryStore } from "../stores/memory-store.ts";
import { testSessionStore } from "../../../testing/src/store/index.ts";
import { encryptStore, encryptValues } from "./encrypted-store.ts";

const [current, fingerprintKey] = [1, 2].map((byte) => new Uint8Array(32).fill(byte)) as [
  Uint8Array,
  Uint8Array,
];
const inner = createMemoryStore();
const readable = createMemoryStore();

describe.each([
  ["", inner, encryptStore(inner, { keys: { current }, fingerprintKey })],
  [", with readable keys", readable, encryptValues(readable, { keys: { current } })],
])("the suite for stores%s", (_, under, store) => {
  testSessionStore({
    test,
    open: () => ({ store }),
    hasConnection: false,
    processes: false,
    async plant(key, text) {
      const { records } = await under.list({ prefix: key, limit: 1 });
      const { revision, owner } = records[0]!;
      await under.put(key, text, revision, { owner });
    },
  });
});
