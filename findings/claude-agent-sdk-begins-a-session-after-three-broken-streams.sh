#!/usr/bin/env bash
# @anthropic-ai/claude-agent-sdk 0.3.332: the stream that an agent listens to breaks three times between two calls, as an
# idle connection does at a balancer. The specification (2025-11-25, Streamable HTTP) says that a disconnect may come at
# any time, and that a session lasts until a 404 or a DELETE. The agent begins a new session, and what the old one kept is
# gone: it is neither ended nor used again, and the model reads nothing of it. A call that is under way then fails.
set -euo pipefail
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT && cd "$folder"
npm init -y >/dev/null && npm install --silent --no-audit --no-fund --ignore-scripts @anthropic-ai/claude-agent-sdk@0.3.332 zod@4.6.7 >/dev/null
cat >run.mjs <<'JS'
import { createServer } from "node:http";
import { query } from "@anthropic-ai/claude-agent-sdk";
const notes = {};
const seen = [];
let [begun, broken, ended] = [0, 0, 0];
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const tools = [{ name: "note", description: "Adds a note.", inputSchema: { type: "object", properties: {} } }];
const server = createServer(async (request, response) => {
  const message = JSON.parse((await request.setEncoding("utf8").toArray()).join("") || "null");
  const send = (status, body, headers = {}) =>
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(body && JSON.stringify(body));
  if (request.url.startsWith("/v1/messages")) return model(message, response, send);
  if (request.method === "DELETE") return send(200, { ended: (ended += 1) });
  const session = request.headers["mcp-session-id"];
  if (request.method === "GET" && session !== undefined) {
    response.writeHead(200, { "content-type": "text/event-stream" }).write(": hello\n\n");
    if (broken === 3) return;
    while (seen.length === 0) await wait(100);
    await wait(300);
    broken += 1;
    return response.destroy();
  }
  if (message?.id === undefined) return send(202);
  const answer = (result, headers) => send(200, { jsonrpc: "2.0", id: message.id, result }, headers);
  if (message.method === "initialize") {
    const { protocolVersion } = message.params;
    const result = { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } };
    return answer(result, { "mcp-session-id": `s${(begun += 1)}` });
  }
  if (session === undefined) return send(400, { jsonrpc: "2.0", id: null, error: { code: -32000, message: "No session." } });
  if (message.method === "tools/list") return answer({ tools });
  if (message.method !== "tools/call") return answer({});
  seen.push((notes[session] = (notes[session] ?? 0) + 1));
  answer({ content: [{ type: "text", text: `${notes[session]} notes` }] });
}).listen(0, "127.0.0.1");
/** Calls the tool, calls it again after three breaks, and is done. */
async function model({ tools: offered = [], messages, stream }, response, send) {
  const results = messages.flatMap(({ content }) => (Array.isArray(content) ? content : [])).filter(({ type }) => type === "tool_result");
  const calls = offered.length > 0 && results.length < 2;
  for (let waited = 0; calls && results.length === 1 && broken < 3 && waited < 30_000; waited += 100) await wait(100);
  if (results.length === 1) await wait(2_000);
  const call = { type: "tool_use", id: `toolu_${results.length}`, name: "mcp__notes__note", input: {} };
  const block = calls ? call : { type: "text", text: "Done." };
  const reason = { stop_reason: calls ? "tool_use" : "end_turn", stop_sequence: null };
  const whole = { id: "m", type: "message", role: "assistant", model: "scripted", content: [block], ...reason, usage: { input_tokens: 1, output_tokens: 1 } };
  if (!stream) return send(200, whole);
  const delta = calls ? { type: "input_json_delta", partial_json: "{}" } : { type: "text_delta", text: "Done." };
  const events = [
    { type: "message_start", message: { ...whole, content: [], stop_reason: null } },
    { type: "content_block_start", index: 0, content_block: calls ? call : { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: reason, usage: { output_tokens: 1 } },
    { type: "message_stop" },
  ];
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.end(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(""));
}
await new Promise((resolve) => server.on("listening", resolve));
const origin = `http://127.0.0.1:${server.address().port}`;
const off = { DISABLE_TELEMETRY: "1", DISABLE_AUTOUPDATER: "1", DISABLE_ERROR_REPORTING: "1", ENABLE_TOOL_SEARCH: "false", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1" };
const env = { PATH: process.env.PATH, HOME: process.cwd(), ANTHROPIC_BASE_URL: origin, ANTHROPIC_API_KEY: "none", ...off };
const mcpServers = { notes: { type: "http", url: `${origin}/mcp` } };
const options = { env, mcpServers, maxTurns: 5, settingSources: [], allowedTools: ["mcp__notes"], permissionMode: "dontAsk" };
for await (const _ of query({ prompt: "Take two notes.", options }));
console.log(`broken streams: ${broken}, sessions begun: ${begun}, ended: ${ended}, notes after each call: ${seen.join(" ")}`);
process.exit();
JS
timeout 120 node run.mjs </dev/null | tee seen
grep -qx "broken streams: 3, sessions begun: 2, ended: 0, notes after each call: 1 1" seen
