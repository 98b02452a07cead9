// What each operation of the built SQLite store does, on the release of Node that runs this. CI takes the oldest one.
import { deepStrictEqual } from "node:assert";
import { setTimeout } from "node:timers/promises";
import { createSqliteStore } from "@durable-mcp/stores/sqlite";

const store = createSqliteStore({ path: ":memory:" });
const owner = "ann";
const notices = [];
store.subscribe("cart", () => notices.push("cart"));
const { revision } = await store.put("cart", ["oats"], null, { owner });
const changed = { type: "put", key: "cart", value: ["oats", "tea"], ifRevision: revision, owner };
deepStrictEqual((await store.batch([changed])).ok, true);
deepStrictEqual((await store.batch([changed])).index, 0);
await store.touch("cart", Date.now() + 1_000);
deepStrictEqual((await store.get("cart")).value, ["oats", "tea"]);
deepStrictEqual((await store.getMany(["cart", "none"]))[1], undefined);
deepStrictEqual((await store.list({ prefix: "c", owner, limit: 10 })).records.length, 1);
deepStrictEqual((await store.delete("cart")).ok, true);
// The first one says that notices come from now on.
while (notices.length === 0) await setTimeout(10);
await store.publish("cart");
deepStrictEqual(notices.length, 2);
await store.close();
console.log(`The SQLite store works on Node ${process.version}.`);
