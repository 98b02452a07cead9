/** `tmcp` over HTTP; a notebook for each session id. */
import { ZodJsonSchemaAdapter } from "@tmcp/adapter-zod";
import { HttpTransport } from "@tmcp/transport-http";
import { McpServer } from "tmcp";
import { notebookTools } from "../../src/fixtures/notebook-tools.ts";
import { serveFetch } from "../../src/fixtures/serve-fetch.ts";
import { createNotebookPerSession } from "./notebook-per-session.mjs";

const server = new McpServer(
  { name: "notebook", version: "1.0.0", description: "A notebook." },
  { adapter: new ZodJsonSchemaAdapter(), capabilities: { tools: {} } },
);
const run = createNotebookPerSession();
for (const { name, description, inputSchema } of notebookTools([]))
  server.tool({ name, description, schema: inputSchema }, (args) =>
    run(server.ctx.sessionId, name, args),
  );
const transport = new HttpTransport(server, { path: "/mcp" });
serveFetch(
  async (request) => (await transport.respond(request)) ?? new Response(null, { status: 404 }),
);
