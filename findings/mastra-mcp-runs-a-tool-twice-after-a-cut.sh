#!/usr/bin/env bash
# @mastra/mcp 2.0.0: the connection is cut after the server has carried a tool call out and before its answer. The client
# begins a new session and sends the call again by itself, so the tool runs twice, and the caller sees a success. The
# specification (2025-11-25, Streamable HTTP) says that a disconnect is no cancellation; a call that is not idempotent
# should fail with an unknown outcome.
set -euo pipefail
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT && cd "$folder"
npm init -y >/dev/null && npm install --silent --no-audit --no-fund @mastra/mcp@2.0.0 @mastra/core@1.71.0 zod@4.6.7 >/dev/null
cat >run.mjs <<'JS'
import { createServer } from "node:http";
import { MCPClient } from "@mastra/mcp";
let [ran, initializes] = [0, 0];
const tools = [{ name: "pay", description: "Pays.", inputSchema: { type: "object", properties: {} } }];
const server = createServer(async (request, response) => {
  const message = JSON.parse((await request.setEncoding("utf8").toArray()).join("") || "null");
  const send = (status, body, headers = {}) =>
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(body && JSON.stringify(body));
  if (request.method !== "POST") return send(405);
  if (message.id === undefined) return send(202);
  const answer = (result, headers) => send(200, { jsonrpc: "2.0", id: message.id, result }, headers);
  if (message.method === "server/discover") return send(404);
  if (message.method === "initialize") {
    initializes += 1;
    const { protocolVersion } = message.params;
    return answer({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } }, { "mcp-session-id": `s${initializes}` });
  }
  if (message.method === "tools/list") return answer({ tools });
  ran += 1;
  if (ran === 1) return request.socket.destroy();
  answer({ content: [{ type: "text", text: "paid" }] });
}).listen(0, "127.0.0.1");
await new Promise((resolve) => server.on("listening", resolve));
const client = new MCPClient({ servers: { bank: { url: new URL(`http://127.0.0.1:${server.address().port}/mcp`) } } });
const [pay] = Object.values(await client.listTools());
const seen = await pay.execute({}, {}).then((result) => (result?.isError || result?.error ? "an error" : "a success"), () => "an error");
console.log(`the tool ran ${ran} times, sessions: ${initializes}, the caller saw ${seen}`);
process.exit();
JS
node run.mjs 2>/dev/null | tee seen
grep -q "^the tool ran 2 times, sessions: 2, the caller saw a success$" seen
