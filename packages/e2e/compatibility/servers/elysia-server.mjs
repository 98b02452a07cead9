/** `elysia-mcp`, which needs bun. */
import { Elysia } from "elysia";
import { mcp } from "elysia-mcp";
import { notebookTools } from "../../src/fixtures/notebook-tools.ts";
import { registerNotebookTools } from "../../src/fixtures/sdk-v1-notebook.ts";
import { port } from "./argv-port.mjs";

new Elysia()
  .use(
    mcp({
      serverInfo: { name: "notebook", version: "1.0.0" },
      capabilities: { tools: {} },
      setupServer: async (server) => registerNotebookTools(server, notebookTools([])),
    }),
  )
  .listen({ hostname: "127.0.0.1", port });
