// A server that closes a kept connection without a byte, after it has read the call: the call may have been carried
// out. Deno's own fetch would send it again, and report success.
import { createServer, type Socket } from "node:net";
import { createSessionFetch, createSessionSlot } from "@durable-mcp/core";

let calls = 0;
const initialized = {
  protocolVersion: "2025-11-25",
  capabilities: { tools: {} },
  serverInfo: { name: "cutting", version: "1" },
};

function answer(socket: Socket, body: string): void {
  const message = JSON.parse(body) as { id?: unknown; method: string };
  if (message.method === "tools/call" && (calls += 1) === 1) return void socket.end();
  const result = message.method === "initialize" ? initialized : { content: [] };
  const text = JSON.stringify({ jsonrpc: "2.0", id: message.id, result });
  const head = [
    "HTTP/1.1 200 OK",
    "content-type: application/json",
    "mcp-session-id: s-1",
    `content-length: ${text.length}`,
  ];
  socket.write([...head, "", text].join("\r\n"));
}

const server = createServer((socket) => {
  let read = "";
  socket.setEncoding("utf8");
  socket.on("error", () => undefined);
  socket.on("data", (text: string) => {
    read += text;
    const [head = "", body = ""] = read.split("\r\n\r\n");
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1]);
    if (body.length < length) return;
    read = "";
    answer(socket, body);
  });
});
await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
const { port } = server.address() as { port: number };
const url = `http://127.0.0.1:${port}/mcp`;
const fetch = createSessionFetch({ url, slot: createSessionSlot() });
const post = (message: object) =>
  fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
    body: JSON.stringify({ jsonrpc: "2.0", ...message }),
  });
const clientInfo = { name: "once", version: "1" };
const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
await (await post({ id: 0, method: "initialize", params })).text();
await (await post({ method: "notifications/initialized" })).text();
const outcome = await post({ id: 1, method: "tools/call", params: { name: "pay" } }).then(
  (response) => `HTTP ${response.status}`,
  (error: unknown) => (error as { code?: unknown }).code,
);
console.log(`arrived ${calls} times: ${String(outcome)}`);
process.exit(calls === 1 && outcome === "OUTCOME_UNKNOWN" ? 0 : 1);
