/**
 * The `greet` tool of the official SDK's example server, on `@durable-mcp/server`:
 *
 *     node greeting-server.ts <port> memory|sqlite|sqlite-normal [json]
 */
import { mkdtempSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createMemoryStore } from "@durable-mcp/core";
import { createSessionHandler } from "@durable-mcp/server";
import { toNodeHandler } from "@durable-mcp/server/node";
import { createSqliteStore, sqliteTables } from "@durable-mcp/stores/sqlite";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { z } from "zod";

const [, , port, kind, format] = process.argv;

function openStore() {
  if (kind === "memory") return createMemoryStore({ maxRecords: 1_000_000 });
  const path = join(mkdtempSync(join(tmpdir(), "durable-mcp-load-")), "sessions.db");
  if (kind === "sqlite") return createSqliteStore({ path });
  // Survives the death of processes; the last moments before a power failure may be lost.
  const database = new DatabaseSync(path);
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; ${sqliteTables()}`);
  return createSqliteStore({ database });
}

const handler = createSessionHandler({
  principal: "none",
  store: openStore(),
  responseFormat: format === "json" ? "json" : "sse",
  limits: { liveSessions: 20_000 },
  createServer: () => {
    const mcp = new McpServer({ name: "greeting", version: "1.0.0" });
    mcp.registerTool("greet", { inputSchema: { name: z.string() } }, ({ name }) => ({
      content: [{ type: "text", text: `Hello, ${name}!` }],
    }));
    return mcp;
  },
});
createServer(toNodeHandler(handler)).listen(Number(port), "127.0.0.1");
