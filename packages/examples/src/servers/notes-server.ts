/**
 * An MCP server whose sessions survive restarts and replicas: every session has notes of its own,
 * in the store. Start it as often as you like on one store and let requests go to any of them.
 *
 *     node notes-server.ts <port> [<path of a SQLite file, or the URL of a PostgreSQL or Redis server>]
 */
import { createServer } from "node:http";
import { createSessionHandler, type ServerSession } from "@durable-mcp/server";
import { toNodeHandler } from "@durable-mcp/server/node";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { z } from "zod";
import { openStore } from "../programs/open-store.ts";

interface Notes {
  notes: string[];
}

const where = process.argv[3];
const handler = createSessionHandler<Notes>({
  principal: "none", // fine on one's own machine; a public server verifies who sends a request
  store: where === undefined ? undefined : (await openStore(where)).store,
  initialState: () => ({ notes: [] }),
  createServer: ({ session }) => createNotesServer(session),
  // The AI SDK's client does not come back for an answer whose stream broke.
  responseFormat: ({ clientInfo }) => (clientInfo?.name.startsWith("ai-sdk") ? "json" : "sse"),
  timeouts: { leaseMs: 2_000, pollIntervalMs: 100 },
});
const server = createServer(toNodeHandler(handler)).listen(Number(process.argv[2]), "127.0.0.1");

// A deploy: let calls end, then go. Clients go on at another replica.
process.once("SIGTERM", () => {
  void handler.drain().then(() => server.close(() => process.exit(0)));
});

function createNotesServer(session: ServerSession<Notes>): McpServer {
  const mcp = new McpServer({ name: "notes", version: "1.0.0" });
  mcp.registerTool(
    "add_note",
    {
      description: "Adds a note to this session's notes.",
      inputSchema: { text: z.string(), delayMs: z.number().default(0) },
    },
    async ({ text, delayMs }) => {
      await new Promise((resolve) => setTimeout(resolve, delayMs));
      // Runs again when another call was faster: agents call tools in parallel.
      const count = await session.update(({ notes }) => notes.push(text));
      return texts([`${count} notes`]);
    },
  );
  mcp.registerTool(
    "search_notes",
    {
      description: "Lists the notes of this session that contain a text, one a line.",
      inputSchema: { text: z.string() },
    },
    ({ text }) => texts(session.state.notes.filter((note) => note.includes(text))),
  );
  return mcp;
}

function texts(lines: string[]) {
  return { content: [{ type: "text" as const, text: lines.join("\n") }] };
}
