// Reads a key of a store, with a limit, and prints how that went.
import openPostgres from "./open-postgres.ts";
import openRedis from "./open-redis.ts";

const [kind, port, limit] = process.argv.slice(2);
const open = kind === "redis" ? openRedis : openPostgres;
const { store, close } = await open(Number(port), { timeoutMs: Number(limit) });
await store.put("warm", 1, null, { owner: "o" });
console.log(await store.get("frozen-key").then(() => "answered", String));
await close?.();
