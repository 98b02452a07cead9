#!/usr/bin/env bash
# @modelcontextprotocol/sdk 1.32.2: two clients that were given one session (`sessionId` of the transport is public) count
# their request ids from the same number, and the server routes answers by id. The second caller gets the first one's
# result, and the first waits until its time-out. The specification forbids equal ids within a session, and a client
# cannot know what another has used; one would expect a refusal.
set -euo pipefail
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT && cd "$folder"
npm init -y >/dev/null && npm install --silent --no-audit --no-fund @modelcontextprotocol/sdk@1.32.2 zod@4.6.7 >/dev/null
cat >run.mjs <<'JS'
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { z } from "zod";
const mcp = new McpServer({ name: "s", version: "1" });
mcp.registerTool("echo", { inputSchema: { text: z.string(), ms: z.number() } }, async ({ text, ms }) => {
  await new Promise((resolve) => setTimeout(resolve, ms));
  return { content: [{ type: "text", text }] };
});
const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: randomUUID });
await mcp.connect(transport);
const server = createServer((request, response) => transport.handleRequest(request, response)).listen(0, "127.0.0.1");
await new Promise((resolve) => server.on("listening", resolve));
const url = new URL(`http://127.0.0.1:${server.address().port}/mcp`);
const first = new StreamableHTTPClientTransport(url);
await new Client({ name: "opener", version: "1" }).connect(first);
const resume = async () => {
  const client = new Client({ name: "c", version: "1" });
  const own = new StreamableHTTPClientTransport(url, { sessionId: first.sessionId });
  own.setProtocolVersion("2025-11-25");
  await client.connect(own);
  return client;
};
const [alice, bob] = [await resume(), await resume()];
const call = (client, text, ms) =>
  client.callTool({ name: "echo", arguments: { text, ms } }, undefined, { timeout: 3000 })
    .then(({ content }) => content[0].text, () => "nothing, until its time-out");
const slow = call(alice, "of alice", 300);
await new Promise((resolve) => setTimeout(resolve, 100));
const answers = await Promise.all([slow, call(bob, "of bob", 1000)]);
console.log(`alice got: ${answers[0]}\nbob got: ${answers[1]}`);
process.exit();
JS
node run.mjs | tee seen
grep -qx "alice got: nothing, until its time-out" seen
grep -qx "bob got: of alice" seen
