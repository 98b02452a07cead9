import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createSessionFetch, createSessionSlot, parseSessionSnapshot } from "@durable-mcp/core";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [url = "", item] = process.argv.slice(2);
const file = "snapshot.json";
const saved = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : undefined;
const slot = createSessionSlot(saved && parseSessionSnapshot(saved));
const client = new Client({ name: "consumer", version: "1.0.0" });
const transport = new StreamableHTTPClientTransport(new URL(url), {
  fetch: createSessionFetch({ url, slot }),
});
await client.connect(transport);
const { content } = await client.callTool({ name: "add_item", arguments: { item } });
console.log(JSON.stringify(content));
await client.close();
writeFileSync(file, JSON.stringify(slot.snapshot), { mode: 0o600 });
