#!/usr/bin/env bash
# @ai-sdk/mcp 2.0.99: a 404 to a request on a session is a lost session (specification 2025-11-25, session management,
# 3 and 4), and `onSessionExpired` tells of it. If the 404 has a JSON-RPC error whose id is the request's, as JSON-RPC asks
# for, it is not called, and the client keeps the dead session. With `"id": null` it is called.
set -euo pipefail
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT && cd "$folder"
npm init -y >/dev/null && npm install --silent --no-audit --no-fund @ai-sdk/mcp@2.0.99 >/dev/null
cat >run.mjs <<'JS'
import { createServer } from "node:http";
import { createMCPClient } from "@ai-sdk/mcp";
async function count(idOf) {
  const server = createServer(async (request, response) => {
    const message = JSON.parse((await request.setEncoding("utf8").toArray()).join("") || "null");
    const send = (status, body, headers = {}) =>
      response.writeHead(status, { "content-type": "application/json", ...headers }).end(body && JSON.stringify(body));
    if (message?.method === "server/discover") return send(404);
    if (message?.method === "notifications/initialized") return send(202);
    if (message?.method === "initialize") {
      const { protocolVersion } = message.params;
      const result = { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } };
      return send(200, { jsonrpc: "2.0", id: message.id, result }, { "mcp-session-id": "one" });
    }
    if (request.method !== "POST") return send(405);
    send(404, { jsonrpc: "2.0", id: idOf(message), error: { code: -32001, message: "Session not found" } });
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.on("listening", resolve));
  let expired = 0;
  const url = `http://127.0.0.1:${server.address().port}/mcp`;
  const client = await createMCPClient({ transport: { type: "http", url, onSessionExpired: () => void (expired += 1) } });
  await client.listTools().catch(() => undefined);
  await client.close().catch(() => undefined);
  server.closeAllConnections();
  server.close();
  return expired;
}
console.log("onSessionExpired, id null:", (await count(() => null)) > 0 ? "called" : "not called");
console.log("onSessionExpired, id of the request:", (await count(({ id }) => id)) > 0 ? "called" : "not called");
JS
node run.mjs | tee seen
grep -qx "onSessionExpired, id null: called" seen
grep -qx "onSessionExpired, id of the request: not called" seen
