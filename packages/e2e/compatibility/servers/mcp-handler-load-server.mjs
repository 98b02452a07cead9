/** The tool that `npm run load` measures, on `mcp-handler` 2: both eras, no sessions. */
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler } from "mcp-handler";
import { z } from "zod";
import { serveAndReport } from "../../../benchmarks/src/server-load/serve-and-report.ts";

const handler = createMcpHandler((server) => {
  server.registerTool("greet", { inputSchema: z.object({ name: z.string() }) }, ({ name }) => ({
    content: [{ type: "text", text: `Hello, ${name}!` }],
  }));
});
serveAndReport(toNodeHandler({ fetch: handler }));
