import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

// The server behind all gateways: sessions of revision 2025-11-25 with a counter each, as little work as can be.
const counts = new Map<string, number>();

const events = { "content-type": "text/event-stream" };

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request
    .on("data", (chunk: Buffer) => chunks.push(chunk))
    .on("end", () => {
      const session = String(request.headers["mcp-session-id"]);
      if (request.method === "GET") return response.writeHead(200, events).flushHeaders();
      if (request.method === "DELETE") {
        counts.delete(session);
        return response.writeHead(204).end();
      }
      const { id, method } = JSON.parse(Buffer.concat(chunks).toString()) as {
        id?: unknown;
        method: string;
      };
      if (id === undefined) return response.writeHead(202).end();
      const answer = (result: object) => JSON.stringify({ jsonrpc: "2.0", id, result });
      if (method === "initialize") {
        const own = randomUUID();
        counts.set(own, 0);
        response.writeHead(200, { "content-type": "application/json", "mcp-session-id": own });
        const serverInfo = { name: "counter", version: "1.0.0" };
        const capabilities = { tools: {} };
        return response.end(answer({ protocolVersion: "2025-11-25", capabilities, serverInfo }));
      }
      const count = counts.get(session);
      if (count === undefined) return response.writeHead(404).end();
      counts.set(session, count + 1);
      const content = [{ type: "text", text: `count ${count + 1}` }];
      return response
        .writeHead(200, events)
        .end(`event: message\ndata: ${answer({ content })}\n\n`);
    });
});
server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
process.on("disconnect", () => process.exit());
