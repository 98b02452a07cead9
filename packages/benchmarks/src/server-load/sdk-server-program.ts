/**
 * The measured tools on the official SDK's own transport: one for each session, in a map, on plain `node:http`:
 *
 *     node sdk-server-program.ts none|events sse|json
 */
import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { InMemoryEventStore } from "@modelcontextprotocol/sdk/examples/shared/inMemoryEventStore.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { createMeasuredTools } from "./measured-tools.ts";
import { serveAndReport } from "./serve-and-report.ts";

const [, , kept, format] = process.argv;
const transports = new Map<string, StreamableHTTPServerTransport>();

serveAndReport(async (request, response) => {
  const id = request.headers["mcp-session-id"];
  if (typeof id !== "string") return await serveNew(request, response);
  const transport = transports.get(id);
  if (transport === undefined) return void response.writeHead(404).end();
  await transport.handleRequest(request, response);
});

async function serveNew(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    enableJsonResponse: format === "json",
    onsessioninitialized: (id) => void transports.set(id, transport),
    ...(kept === "events" && { eventStore: new InMemoryEventStore() }),
  });
  let calls = 0;
  // Its type of `onclose` does not know `exactOptionalPropertyTypes`.
  const connected = transport as Parameters<ReturnType<typeof createMeasuredTools>["connect"]>[0];
  await createMeasuredTools(() => (calls += 1)).connect(connected);
  await transport.handleRequest(request, response);
}
