import { createMemoryStore } from "@durable-mcp/stores/memory";
import { createPostgresStore } from "@durable-mcp/stores/postgres";
import { createRedisStore } from "@durable-mcp/stores/redis";
import { createSqliteStore } from "@durable-mcp/stores/sqlite";
import pg from "pg";
import { createClient } from "redis";

const [, item = ""] = process.argv.slice(2);
// They connect when they are used.
const others = [
  createMemoryStore(),
  createPostgresStore({ pool: new pg.Pool() }),
  createRedisStore({ client: createClient() }),
];
const store = createSqliteStore({ path: "sessions.db" });
const found = await store.get("cart");
const items = Array.isArray(found?.value) ? found.value : [];
const answer = await store.put("cart", [...items, item], found?.revision ?? null, {
  owner: "ann",
});
if (!answer.ok) throw new Error("Another process was faster.");
console.log(JSON.stringify((await store.get("cart"))?.value), others.length);
await store.close();
