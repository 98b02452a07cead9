import { createMemoryStore, McpSessionError, type SessionStore } from "@durable-mcp/core";
import { expect, test } from "vitest";
import { createFaultyStore, type StoreAct } from "@durable-mcp/testing";
import { readMessages, takeEventId } from "../../test/raw-client.ts";
import { createReplicas } from "../../test/replicas.ts";

/** A store that has only what every store must have. */
function withoutBatch(): SessionStore {
  return { ...createMemoryStore(), batch: undefined } as never;
}

function start(store: SessionStore) {
  return createReplicas().start({ store, timeouts: { leaseMs: 400 } });
}

const storeFailed = () => new McpSessionError("STORE_FAILED", "The store is down.");

/** Whether an operation writes a session's record, which no creation does here. */
function writesSession(operation: string, keys: readonly string[]): boolean {
  return (operation === "batch" || operation === "put") && keys.join().includes('"session');
}

/** Fails the first write of a session's record, and does it `when` a later operation begins. */
function lateWrite(when: "at once" | "before the second try"): StoreAct {
  let late: (() => Promise<unknown>) | undefined;
  let isDone = false;
  return async (run, { name: operation, keys }) => {
    if (late && writesSession(operation, keys)) {
      await late();
      late = undefined;
      return await run();
    }
    if (isDone || !writesSession(operation, keys)) return await run();
    isDone = true;
    if (when === "at once") await run();
    else late = run;
    throw storeFailed();
  };
}

test.each(["at once", "before the second try"] as const)(
  "a write that failed, and was done %s all the same, is done once",
  async (when) => {
    const { store, ...control } = createFaultyStore(createMemoryStore());
    const { client } = start(store);
    const id = await client.initialize();
    control.meet("*", lateWrite(when));
    const { error } = await client.call(id, "add_with_update", { text: "a" });
    expect(error).toBeUndefined();
    expect(await client.call(id, "list")).toMatchObject({ text: "a" });
  },
);

test.each(["at once", "before the second try"] as const)(
  "an answer whose write failed, and was done %s all the same, is the answer",
  async (when) => {
    const { store, ...control } = createFaultyStore(createMemoryStore());
    const { client } = start(store);
    const id = await client.initialize();
    control.meet("*", lateWrite(when));
    const call = await client.call(id, "add", { text: "a" });
    expect(call).toMatchObject({ text: "1 notes" });
    expect(await client.call(id, "list")).toMatchObject({ text: "a" });
  },
);

test("without transactions an answer is stored too when the write before it was uncertain", async () => {
  const { store, ...control } = createFaultyStore(withoutBatch());
  const [one, two] = [start(store), start(store)];
  const id = await one.client.initialize();
  let isFirst = true;
  control.meet("*", async (run, { name: operation, keys }) => {
    const result = await run();
    if (operation !== "put" || !keys.join().includes('"session"') || !isFirst) return result;
    isFirst = false;
    throw storeFailed();
  });
  const params = { name: "add", arguments: { text: "a" } };
  const response = await one.client.post(id, { id: 7, method: "tools/call", params });
  const first = await takeEventId(response);
  const [answer] = await readMessages(await two.client.get(id, first));
  expect(answer?.message.result?.content?.[0]?.text).toBe("1 notes");
});

test("a write is not repeated on what another process has written since", async () => {
  const { store, ...control } = createFaultyStore(createMemoryStore());
  const [one, two] = [start(store), start(store)];
  const id = await one.client.initialize();
  await two.client.call(id, "list");
  control.meet("*", async (run, { name: operation, keys }) => {
    if (!writesSession(operation, keys)) return await run();
    control.heal();
    // It is done, and nobody is told. Then another process builds on it.
    await run();
    await two.client.call(id, "add", { text: "b" });
    await one.client.call(id, "list");
    throw storeFailed();
  });
  const { error } = await one.client.call(id, "add_with_update", { text: "a" });
  const list = await one.client.call(id, "list");
  // Nobody can know whether it was done; it was not done twice.
  expect([error, list.text]).toEqual([undefined, "a,b"]);
});
