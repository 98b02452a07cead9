#!/usr/bin/env bash
# @openai/agents 0.20.0: MCPServerStreamableHttp meets a server that has restarted and answers 404 to the old session. The
# specification (2025-11-25, session management, 4) has a client begin a new session with `initialize`. It does not: each
# later call throws the same 404, and no second `initialize` is ever sent.
set -euo pipefail
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT && cd "$folder"
npm init -y >/dev/null && npm install --silent --no-audit --no-fund @openai/agents@0.20.0 zod@4.6.7 >/dev/null
cat >run.mjs <<'JS'
import { createServer } from "node:http";
import { MCPServerStreamableHttp } from "@openai/agents";
let epoch = 1;
let initializes = 0;
const tools = [{ name: "ping_me", description: "Answers.", inputSchema: { type: "object", properties: {} } }];
const server = createServer(async (request, response) => {
  const message = JSON.parse((await request.setEncoding("utf8").toArray()).join("") || "null");
  const send = (status, body, headers = {}) =>
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(body && JSON.stringify(body));
  if (request.method === "GET") return send(405);
  if (message?.method === "initialize") {
    initializes += 1;
    const { protocolVersion } = message.params;
    const result = { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } };
    return send(200, { jsonrpc: "2.0", id: message.id, result }, { "mcp-session-id": `session-${epoch}` });
  }
  if (request.headers["mcp-session-id"] !== `session-${epoch}`)
    return send(404, { jsonrpc: "2.0", id: null, error: { code: -32001, message: "Session not found" } });
  if (message?.id === undefined) return send(202);
  const result = message.method === "tools/list" ? { tools } : { content: [{ type: "text", text: "pong" }] };
  send(200, { jsonrpc: "2.0", id: message.id, result });
}).listen(0, "127.0.0.1");
await new Promise((resolve) => server.on("listening", resolve));
const mcp = new MCPServerStreamableHttp({ url: `http://127.0.0.1:${server.address().port}/mcp`, name: "s" });
await mcp.connect();
const call = () => mcp.callTool("ping_me", {}).then(() => "answered", () => "threw");
console.log("before the restart:", await call());
epoch = 2;
for (const turn of [1, 2, 3]) console.log(`call ${turn} after it:`, await call());
console.log("initialize was sent", initializes, "time(s)");
process.exit();
JS
node run.mjs | tee seen
grep -qx "before the restart: answered" seen
[ "$(grep -c "^call [123] after it: threw" seen)" = 3 ]
grep -qx "initialize was sent 1 time(s)" seen
