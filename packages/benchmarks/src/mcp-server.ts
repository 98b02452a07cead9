// An MCP server that does nothing but answer, run in a process of its own by start-mcp-server.ts.
// The path names the answer: /<json or sse>/<tool result>/<bytes>.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { type AnswerTemplate, createAnswerTemplate, type Framing } from "./answers.ts";
import { initializeResult, sessionId } from "./session.ts";
import type { ToolResultName } from "./tool-results.ts";

const templates = new Map<string, AnswerTemplate>();
function template(path: string): AnswerTemplate {
  const [framing, result, size] = decodeURI(path).split("/").slice(1);
  const known = templates.get(path);
  if (known) return known;
  const created = createAnswerTemplate(framing as Framing, result as ToolResultName, Number(size));
  templates.set(path, created);
  return created;
}

const server = createServer((request, response) => {
  void text(request).then((body) => {
    if (request.method !== "POST") return response.writeHead(405).end();
    const { id, method } = JSON.parse(body) as { id?: unknown; method: string };
    if (id === undefined) return response.writeHead(202).end();
    if (method === "initialize") {
      const headers = { "content-type": "application/json", "mcp-session-id": sessionId };
      return response
        .writeHead(200, headers)
        .end(JSON.stringify({ result: initializeResult, jsonrpc: "2.0", id }));
    }
    if (method !== "tools/call") {
      const error = { code: -32601, message: "Method not found" };
      return response
        .writeHead(200, { "content-type": "application/json" })
        .end(JSON.stringify({ jsonrpc: "2.0", id, error }));
    }
    const { contentType, withId } = template(request.url ?? "");
    return response.writeHead(200, { "content-type": contentType }).end(withId(id));
  });
});

server.listen(0, "127.0.0.1", () => {
  process.send?.((server.address() as AddressInfo).port);
});
process.on("disconnect", () => process.exit());
