/** `@hono/mcp` as its README has it, one transport for the whole process, with session ids. */
import { randomUUID } from "node:crypto";
import { StreamableHTTPTransport } from "@hono/mcp";
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { createSdkV1Notebook } from "../../src/fixtures/sdk-v1-notebook.ts";
import { port } from "./argv-port.mjs";

const notebook = createSdkV1Notebook();
const transport = new StreamableHTTPTransport({ sessionIdGenerator: randomUUID });
const app = new Hono();
app.all("/mcp", async (context) => {
  if (!notebook.isConnected()) await notebook.connect(transport);
  return transport.handleRequest(context);
});
serve({ fetch: app.fetch, hostname: "127.0.0.1", port });
