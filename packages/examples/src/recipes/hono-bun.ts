import { createSqliteStore } from "@durable-mcp/stores/sqlite";
import { createApp } from "./hono.ts";
import { model } from "./model.ts";

const store = createSqliteStore({ path: process.env["SESSIONS_DB"]! });
export default createApp(() => ({ shopUrl: process.env["SHOP_URL"]!, store, model }));
