// The first use of each part that is loaded when it is used, and the second: node first-use.js <url> <file>
import {
  createDurableSessions,
  defineMcpClientConnection,
  withConnections,
} from "@durable-mcp/ai-sdk";
import { createSqliteStore } from "@durable-mcp/stores/sqlite";

const [, , url, path] = process.argv;
const store = createSqliteStore({ path });
const sessions = createDurableSessions({
  connections: {
    counter: defineMcpClientConnection({ url, description: "Counts.", session: "stateful" }),
  },
  store,
});
const principal = { type: "app" };
const uses = [];

async function measure(part, use) {
  const times = [];
  for (let n = 0; n < 2; n += 1) {
    const start = performance.now();
    await use();
    times.push(performance.now() - start);
  }
  uses.push({ part, first: times[0], second: times[1] });
}

await sessions.run("chat", { principal }, async (run) => {
  await run.call("counter", "count");
  await measure("`run.ready`", () => run.ready("counter"));
  await measure("`run.named.list`", () => run.named.list());
  await measure("`withConnections`", () =>
    withConnections({ counter: "inherit" }, () => undefined),
  );
});
await measure("`sessions.list`", () => sessions.list({ principal }));
await measure("`sessions.waiting`", () => sessions.waiting("chat", { principal }));
await measure("`sessions.admin.list`", () => sessions.admin.list());
await measure("`sessions.end` of nothing", () => sessions.end("none", { principal }));
await store.close();
console.log(JSON.stringify({ said: "1", maxRssKilobytes: 0, cpuMs: 0, uses }));
