/** `fastmcp` over HTTP, as its README starts it; a notebook for each session id. `--stateless`: without sessions. */
import { FastMCP } from "fastmcp";
import { notebookTools } from "../../src/fixtures/notebook-tools.ts";
import { port } from "./argv-port.mjs";
import { createNotebookPerSession } from "./notebook-per-session.mjs";

const server = new FastMCP({ name: "notebook", version: "1.0.0" });
const run = createNotebookPerSession();
for (const { name, description, inputSchema } of notebookTools([]))
  server.addTool({
    name,
    description,
    parameters: inputSchema,
    execute: (args, { sessionId, requestId }) => run(sessionId, name, args, requestId),
  });
const stateless = process.argv.includes("--stateless");
await server.start({ transportType: "httpStream", httpStream: { port, stateless } });
