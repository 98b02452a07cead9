import { createInterface } from "node:readline";

// The program behind all gateways: a counter, with as little work as can be.
let count = 0;

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method } = JSON.parse(line) as { id?: unknown; method: string };
  if (id === undefined) return;
  const answer = (result: object) =>
    process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, result })}\n`);
  if (method === "initialize") {
    const serverInfo = { name: "counter", version: "1.0.0" };
    answer({ protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo });
  } else if (method === "tools/call") {
    count += 1;
    answer({ content: [{ type: "text", text: `count ${count}` }] });
  } else answer({});
});
