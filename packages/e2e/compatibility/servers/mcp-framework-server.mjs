/** `mcp-framework` over HTTP. Its tools are classes in a folder, and are not told their session. */
import { fileURLToPath } from "node:url";
import { MCPServer } from "mcp-framework";
import { port } from "./argv-port.mjs";

const server = new MCPServer({
  name: "notebook",
  version: "1.0.0",
  basePath: fileURLToPath(new URL("./mcp-framework", import.meta.url)),
  transport: { type: "http-stream", options: { port, host: "127.0.0.1" } },
});
await server.start();
