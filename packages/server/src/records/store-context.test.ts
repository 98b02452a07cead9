import { createMemoryStore, type SessionStore } from "@durable-mcp/core";
import { expect, test } from "vitest";
import { createReplicas } from "../../test/replicas.ts";

/** A session, and a handler whose store reads as given. */
async function startOn(get: SessionStore["get"]) {
  const replicas = createReplicas();
  const id = await replicas.start().client.initialize();
  const store = { ...createMemoryStore(), get };
  const { client } = replicas.start({ store, timeouts: { storeMs: 50 } });
  return { call: () => client.call(id, "list"), events: replicas.events };
}

test("a store that never settles fails its requests in time", async () => {
  const { call, events } = await startOn(() => new Promise(() => undefined));
  expect(await call()).toMatchObject({ status: 503 });
  expect(events.at(-1)).toMatchObject({
    type: "store-failed",
    error: { code: "STORE_FAILED", message: expect.stringContaining("(TIMEOUT)") },
  });
});

test("a store's own errors are named, and a read says that nothing was changed", async () => {
  const cause = Object.assign(new Error("10.0.0.1"), { code: "ECONNREFUSED", syscall: "connect" });
  const { call, events } = await startOn(() => {
    throw cause;
  });
  expect(await call()).toMatchObject({ status: 503 });
  expect(events.at(-1)).toMatchObject({
    error: {
      code: "STORE_FAILED",
      message:
        "The session store failed at get (ECONNREFUSED): nothing listens at its address. Start the database, or correct its address. Nothing was read or changed.",
    },
  });
});
