import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createMCPClient } from "@ai-sdk/mcp";
import { createSessionFetch, createSessionSlot, parseSessionSnapshot } from "@durable-mcp/core";

const [url = "", item] = process.argv.slice(2);
const file = "snapshot.json";
const saved = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : undefined;
const slot = createSessionSlot(saved && parseSessionSnapshot(saved));
const client = await createMCPClient({
  transport: { type: "http", url, fetch: createSessionFetch({ url, slot }) },
});
const { content } = await client.callTool({ name: "add_item", arguments: { item } });
console.log(JSON.stringify(content));
await client.close();
writeFileSync(file, JSON.stringify(slot.snapshot), { mode: 0o600 });
