#!/usr/bin/env bash
# @modelcontextprotocol/server-everything 2026.8.31 over Streamable HTTP: a request with an unknown session id gets 400,
# "Bad Request: No valid session ID provided". The specification (2025-11-25, Streamable HTTP, session management, 3)
# says 404, which is what clients look for to begin a new session.
set -euo pipefail
folder=$(mktemp -d) && trap 'kill "${server:-}" 2>/dev/null || true; rm -rf "$folder"' EXIT && cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund @modelcontextprotocol/server-everything@2026.8.31 >/dev/null
PORT=$(node -e 'const s = require("net").createServer().listen(0, () => { console.log(s.address().port); s.close(); })')
export PORT
npx mcp-server-everything streamableHttp >log 2>&1 &
server=$!
for _ in $(seq 50); do curl -s -o /dev/null "http://127.0.0.1:$PORT/mcp" && break || sleep 0.2; done
curl -s -w '\n%{http_code}\n' "http://127.0.0.1:$PORT/mcp" -H 'content-type: application/json' \
  -H 'accept: application/json, text/event-stream' -H 'mcp-protocol-version: 2025-06-18' \
  -H 'mcp-session-id: a-session-of-yesterday' -d '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' | tee seen
grep -q "No valid session ID provided" seen
[ "$(tail -n 1 seen)" = 400 ]
