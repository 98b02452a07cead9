import { createMemoryStore, type SessionStore } from "@durable-mcp/core";
import { expect, test } from "vitest";
import { createFaultyStore } from "@durable-mcp/testing";
import { takeEvents, whenListening } from "../../test/raw-client.ts";
import { createReplicas, startSession, startTwo } from "../../test/replicas.ts";

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

test("a store that hung at a write is not asked to write again", async () => {
  const { store, ...control } = createFaultyStore(createMemoryStore());
  const { client, id } = await startSession({ store, timeouts: { storeMs: 50 } });
  const asked: string[] = [];
  control.meet("*", (run, { name: operation }) => {
    asked.push(operation);
    return operation === "batch" ? new Promise(() => undefined) : run();
  });
  const answer = await client.call(id, "add", { text: "a" });
  expect(answer.error?.data?.code).toBe("STORE_FAILED");
  // The call's own, and that of the error.
  expect(asked.filter((operation) => operation === "batch")).toHaveLength(2);
});

test("a store that cannot subscribe is read now and then, and says so", async () => {
  const inner = createMemoryStore();
  const store: SessionStore = {
    ...inner,
    subscribe: () => {
      throw new Error("no connection");
    },
  };
  const { one, two, id, ...replicas } = await startTwo({ store, timeouts: { pollIntervalMs: 20 } });
  const stream = await whenListening(await two.client.get(id));
  await one.client.call(id, "announce");
  const [event] = await takeEvents(stream, 1);
  expect(event?.message.method).toBe("notifications/resources/list_changed");
  expect(replicas.events).toContainEqual({
    type: "store-failed",
    error: expect.objectContaining({ message: expect.stringContaining("at subscribe") }),
  });
});

test("a message that is too long for the listening stream is an event, and fails what it asks", async () => {
  const { client, id, ...replicas } = await startSession(
    { events: { maxLength: 100 } },
    { elicitation: {} },
  );
  const answer = await client.call(id, "ask");
  expect(answer.text).toContain("events.maxLength allows 100");
  expect(replicas.events).toContainEqual({
    type: "failed",
    error: expect.objectContaining({ code: "STATE_INVALID" }),
  });
});
