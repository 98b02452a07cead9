/** Writes events to a log that other processes share: `node log-program.ts <path> <how many>`. */
import { createEventLog } from "@durable-mcp/ai-sdk/event-log";

const [path = "", count = "0"] = process.argv.slice(2);
const { every: log } = createEventLog({ path });
const step = { id: crypto.randomUUID(), sessionId: "a chat" };
for (let index = 0; index < Number(count); index += 1) {
  log({ type: "resumed", connection: "cart".repeat(20), protocolVersion: "2025-11-25" }, step);
  if (index === 100) await new Promise((resolve) => process.send?.("writing", resolve));
}
process.disconnect?.();
