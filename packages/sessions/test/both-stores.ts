import type { SessionStore } from "@durable-mcp/core";
import { encryptStore } from "@durable-mcp/core/sealing";
import { expect } from "vitest";

export const randomKey = () => crypto.getRandomValues(new Uint8Array(32));

/** The stores of tests that hold for encrypted ones, too: a name for the test, and what makes the store. */
export const bothStores: [name: string, wrap: (store: SessionStore) => SessionStore][] = [
  ["a store", (store) => store],
  [
    "an encrypted store",
    (store) => encryptStore(store, { keys: { current: randomKey() }, fingerprintKey: randomKey() }),
  ],
];

/** How a session of the notebook server is described, beside whose it is. */
export const describedNotebook = {
  kind: "session",
  lastUsedAt: expect.any(Number) as number,
  startedAt: expect.any(Number) as number,
  protocolVersion: "2025-11-25",
  server: { name: "notebook", version: "1.0.0" },
  tools: { count: 4, listedAt: expect.any(Number) as number },
};
