/** The tool that `npm run load` measures, on `fastmcp`, with sessions. */
import { FastMCP } from "fastmcp";
import { z } from "zod";
import { report } from "../../../benchmarks/src/server-load/serve-and-report.ts";
import { findFreePort } from "../../../stores/test/start-server.ts";

const server = new FastMCP({ name: "measured", version: "1.0.0" });
server.addTool({
  name: "greet",
  parameters: z.object({ name: z.string() }),
  execute: async ({ name }) => `Hello, ${name}!`,
});
const [, , , format] = process.argv;
const port = await findFreePort();
const httpStream = { port, host: "127.0.0.1", enableJsonResponse: format === "json" };
await server.start({ transportType: "httpStream", httpStream });
report(port);
