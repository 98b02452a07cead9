/** `mcp-handler` 2: both eras, no sessions. */
import { createMcpHandler } from "mcp-handler";
import { notebookTools } from "../../src/fixtures/notebook-tools.ts";
import { serveFetch } from "../../src/fixtures/serve-fetch.ts";

const handler = createMcpHandler((server) => {
  for (const { name, description, inputSchema, run } of notebookTools([]))
    server.registerTool(name, { description, inputSchema }, (args, { mcpReq }) =>
      run(args, mcpReq.id),
    );
});
serveFetch(handler);
