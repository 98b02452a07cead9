import { createMemoryStore, type SessionStore } from "@durable-mcp/core";
import { expect, test } from "vitest";
import { type Interfere, storeFailed } from "../../test/fragile-store.ts";
import { readMessages, takeEventId, toolCall } from "../../test/raw-client.ts";
import { createReplicas } from "../../test/replicas.ts";

/** A store that has only what every store must have. */
function withoutBatch(): SessionStore {
  return { ...createMemoryStore(), batch: undefined } as never;
}

function start(store: SessionStore = createMemoryStore()) {
  return createReplicas().start({ store, timeouts: { leaseMs: 400 } });
}

/** Whether an operation writes a session's record, which no creation does here. */
function writesSession(operation: string, keys: string): boolean {
  return (operation === "batch" || operation === "put") && keys.includes('"session');
}

/** Fails the first write of a session's record, and does it `when` a later operation begins. */
function lateWrite(when: "at once" | "before the second try"): Interfere {
  let late: (() => Promise<unknown>) | undefined;
  let isDone = false;
  return async (operation, run, keys) => {
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

test.each([
  ["add_with_update", "at once", "added"],
  ["add_with_update", "before the second try", "added"],
  ["add", "at once", "1 notes"],
  ["add", "before the second try", "1 notes"],
] as const)(
  "a write of %s that failed, and was done %s all the same, is done once, and answered",
  async (tool, when, text) => {
    const { client, control } = start();
    const id = await client.initialize();
    control.interfere = lateWrite(when);
    expect(await client.call(id, tool, { text: "a" })).toMatchObject({ text });
    expect(await client.call(id, "list")).toMatchObject({ text: "a" });
  },
);

test("without transactions an answer is stored too when the write before it was uncertain", async () => {
  const store = withoutBatch();
  const [one, two] = [start(store), start(store)];
  const id = await one.client.initialize();
  let isFirst = true;
  one.control.interfere = async (operation, run, key) => {
    const result = await run();
    if (operation !== "put" || !key.includes('"session"') || !isFirst) return result;
    isFirst = false;
    throw storeFailed();
  };
  const response = await one.client.post(id, toolCall(7, "add", { text: "a" }));
  const first = await takeEventId(response);
  const [answer] = await readMessages(await two.client.get(id, first));
  expect(answer?.message.result?.content?.[0]?.text).toBe("1 notes");
});

test("a write is not repeated on what another process has written since", async () => {
  const store = createMemoryStore();
  const [one, two] = [start(store), start(store)];
  const { control } = one;
  const id = await one.client.initialize();
  await two.client.call(id, "list");
  const { interfere } = control;
  control.interfere = async (operation, run, keys) => {
    if (!writesSession(operation, keys)) return await run();
    control.interfere = interfere;
    // It is done, and nobody is told. Then another process builds on it.
    await run();
    await two.client.call(id, "add", { text: "b" });
    await one.client.call(id, "list");
    throw storeFailed();
  };
  const { error } = await one.client.call(id, "add_with_update", { text: "a" });
  const list = await one.client.call(id, "list");
  // Nobody can know whether it was done; it was not done twice.
  expect([error, list.text]).toEqual([undefined, "a,b"]);
});
