// One step of an agent session in SQLite: node durable.js <url> <file> [model]
import { createDurableSessions, defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { createSqliteStore } from "@durable-mcp/stores/sqlite";
import { useTool } from "./use-tool.js";

const [, , url, path, model] = process.argv;
const store = createSqliteStore({ path });
const sessions = createDurableSessions({
  connections: {
    counter: defineMcpClientConnection({ url, description: "Counts.", session: "stateful" }),
  },
  store,
});
const said = await sessions.run("chat", { principal: { type: "app" } }, async (run) =>
  useTool(await run.tools(), "counter__count", model !== undefined),
);
await store.close();

process.on("exit", () => {
  const { maxRSS, userCPUTime, systemCPUTime } = process.resourceUsage();
  const cpuMs = (userCPUTime + systemCPUTime) / 1000;
  console.log(JSON.stringify({ said, maxRssKilobytes: maxRSS, cpuMs }));
});
