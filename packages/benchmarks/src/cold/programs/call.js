// One step that only makes a call, on an agent session in SQLite: node call.js <url> <file>
import { createDurableSessions, defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { createSqliteStore } from "@durable-mcp/stores/sqlite";

const [, , url, path] = process.argv;
const store = createSqliteStore({ path });
const sessions = createDurableSessions({
  connections: {
    counter: defineMcpClientConnection({ url, description: "Counts.", session: "stateful" }),
  },
  store,
});
const { content } = await sessions.run("chat", { principal: { type: "app" } }, (run) =>
  run.call("counter", "count"),
);
await store.close();

process.on("exit", () => {
  const { maxRSS, userCPUTime, systemCPUTime } = process.resourceUsage();
  const cpuMs = (userCPUTime + systemCPUTime) / 1000;
  console.log(JSON.stringify({ said: content[0].text, maxRssKilobytes: maxRSS, cpuMs }));
});
