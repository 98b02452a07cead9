import { createMemoryStore, type JsonValue } from "@durable-mcp/core";
import { describe, expect, test } from "vitest";
import type { JSONRPCMessage } from "../base/mcp-types.ts";
import { createReplicas } from "../../test/replicas.ts";
import { withDefaults } from "../base/settings.ts";
import { createMailbox } from "../streams/mailbox.ts";
import { createStoreContext } from "./store-context.ts";
import { storeKey } from "./store-key.ts";

// A value that a store cannot read is null.
const values: [string, JsonValue][] = [
  ["null", null],
  ["text", "text"],
  ["an object", { version: 9 }],
  ["a list of others", [null, 1, "x", { jsonrpc: "1.0" }]],
];

describe.each(values)("%s in the place of", (_, value) => {
  test("waiting messages counts as none", async () => {
    const store = createMemoryStore();
    const mailbox = createMailbox(createStoreContext(store, withDefaults({}), () => undefined));
    const key = storeKey("default", "mail", "hash", "instance");
    const plant = () => store.put(key, value, null, { owner: "o" });
    await plant();
    expect(await mailbox.take("hash", "instance")).toEqual([]);
    await plant();
    const message: JSONRPCMessage = { jsonrpc: "2.0", method: "notifications/cancelled" };
    // The session is not stored, so the mailbox only keeps what is there already.
    await mailbox.leave({ hash: "hash", record: { owner: "o" } } as never, "instance", [message]);
    expect(await mailbox.take("hash", "instance")).toEqual([message]);
  });

  test("every record disturbs no other session, and is replaced", async () => {
    const replicas = createReplicas();
    const { client } = replicas.start();
    const [poisoned, other] = [await client.initialize(), await client.initialize()];
    await client.call(poisoned, "list");
    const { records } = await replicas.store.list({ limit: 1_000 });
    const [ownSession] = records.filter(({ key }) => key.includes('"session"'));
    for (const { key, owner, revision } of records) {
      const isOther = key.includes('"session"') && key !== ownSession!.key;
      if (!isOther) await replicas.store.put(key, value, revision, { owner });
    }
    const { client: another } = replicas.start();
    expect(await another.call(poisoned, "list")).toMatchObject({ status: 404 });
    expect(await another.call(other, "list")).toMatchObject({ status: 200 });
    expect(await client.call(other, "list")).toMatchObject({ status: 200 });
    expect(replicas.events.map(({ type }) => type)).not.toContain("failed");
  });
});
