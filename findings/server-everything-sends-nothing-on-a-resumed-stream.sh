#!/usr/bin/env bash
# @modelcontextprotocol/server-everything 2026.8.31 over Streamable HTTP: a call's answer is broken off, and resumed with
# Last-Event-ID before it is there. The resumed stream stays open and brings nothing of what comes then. Another GET with
# the same id brings all of it. (Specification 2025-11-25, Streamable HTTP, resumability: the server may replay messages
# after the last event id, "and resume the stream from that point".)
set -euo pipefail
folder=$(mktemp -d) && trap 'kill "${server:-}" 2>/dev/null || true; rm -rf "$folder"' EXIT && cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund @modelcontextprotocol/server-everything@2026.8.31 >/dev/null
PORT=$(node -e 'const s = require("net").createServer().listen(0, () => { console.log(s.address().port); s.close(); })')
export PORT
npx mcp-server-everything streamableHttp >log 2>&1 &
server=$!
for _ in $(seq 50); do curl -s -o /dev/null "http://127.0.0.1:$PORT/mcp" && break || sleep 0.2; done
cat >run.mjs <<'JS'
const url = `http://127.0.0.1:${process.env.PORT}/mcp`;
const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
const post = (message) => fetch(url, { method: "POST", headers, body: JSON.stringify({ jsonrpc: "2.0", ...message }) });
const begun = await post({ id: 0, method: "initialize", params: {
  protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "raw", version: "1" } } });
headers["mcp-session-id"] = begun.headers.get("mcp-session-id");
await begun.text();
await post({ method: "notifications/initialized" });
const call = await post({ id: 1, method: "tools/call", params: {
  name: "trigger-long-running-operation", arguments: { duration: 4, steps: 4 }, _meta: { progressToken: "t" } } });
const reader = call.body.getReader();
let text = "";
while (!/^id: ./m.test(text)) text += new TextDecoder().decode((await reader.read()).value);
const lastEventId = /^id: (.+)$/m.exec(text)[1];
await reader.cancel();
async function resume(ms) {
  const resumed = await fetch(url, { headers: { ...headers, "last-event-id": lastEventId }, signal: AbortSignal.timeout(ms) });
  let seen = "";
  try {
    for await (const part of resumed.body) seen += new TextDecoder().decode(part);
  } catch {}
  return `${resumed.status}, ${seen.includes('"id":1') ? "the result" : "no result"}`;
}
console.log("resumed before the result, for 7 s:", await resume(7_000));
console.log("resumed after it:", await resume(2_000));
JS
node run.mjs | tee seen
grep -qx "resumed before the result, for 7 s: 200, no result" seen
grep -qx "resumed after it: 200, the result" seen
