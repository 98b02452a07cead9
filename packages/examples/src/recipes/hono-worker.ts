import { createD1Store, type D1Database } from "@durable-mcp/stores/d1";
import { createApp } from "./hono.ts";
import { model } from "./model.ts";

interface Env {
  readonly DB: D1Database;
  readonly SHOP_URL: string;
}

export default createApp<Env>(({ DB, SHOP_URL }) => ({
  shopUrl: SHOP_URL,
  store: createD1Store({ database: DB }),
  model,
}));
