// An MCP server that does nothing but answer, in a process of its own: /<json or sse>/<bytes of the answer>/<ms until it>.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout } from "node:timers/promises";
import { initializeResult, sessionId } from "./resumed-session.ts";

type Answer = (id: unknown) => Buffer;

/** As the official TypeScript SDK's servers print it: the id comes last. The content is a screenshot. */
function createAnswer(framing: string, size: number): Answer {
  const data = base64.repeat(Math.floor(size / base64.length));
  const result = { content: [{ type: "image", mimeType: "image/png", data }] };
  const message = JSON.stringify({ result, jsonrpc: "2.0" });
  const [head, tail] =
    framing === "sse" ? ["event: message\nid: 5f1c9d0e_17\ndata: ", "\n\n"] : ["", ""];
  const before = Buffer.from(`${head}${message.slice(0, -1)},"id":`);
  return (id) => Buffer.concat([before, Buffer.from(`${JSON.stringify(id)}}${tail}`)]);
}

const base64 =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg";
const contentTypes: Record<string, string> = { json: "application/json", sse: "text/event-stream" };
const answers = new Map<string, Answer>();

const server = createServer((request, response) => {
  void text(request).then(async (body) => {
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
    const path = request.url ?? "";
    const [, framing = "", size, ms] = path.split("/");
    const answer = answers.get(path) ?? createAnswer(framing, Number(size));
    answers.set(path, answer);
    if (Number(ms) > 0) await setTimeout(Number(ms));
    return response.writeHead(200, { "content-type": contentTypes[framing] }).end(answer(id));
  });
});

server.listen(0, "127.0.0.1", () => {
  process.send?.((server.address() as AddressInfo).port);
});
process.on("disconnect", () => process.exit());
