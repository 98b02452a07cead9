// Resumed steps with a long list of tools beside steps of @ai-sdk/mcp alone, in turn, in one process that is warm:
//     node many-tools.js <url> <file> <rounds>
import { createMCPClient } from "@ai-sdk/mcp";
import { createDurableSessions, defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { createSqliteStore } from "@durable-mcp/stores/sqlite";

const [, , url, path, rounds] = process.argv;
const call = { toolCallId: "call-1", messages: [] };
const store = createSqliteStore({ path });
const sessions = createDurableSessions({
  connections: {
    counter: defineMcpClientConnection({ url, description: "Counts.", session: "stateful" }),
  },
  store,
});

async function bareStep() {
  const client = await createMCPClient({ transport: { type: "http", url } });
  const { count } = await client.tools();
  const { content } = await count.execute({}, call);
  await client.close();
  return content[0].text;
}

async function durableStep() {
  const { content } = await sessions.run("chat", { principal: { type: "app" } }, async (run) =>
    (await run.tools()).counter__count.execute({}, call),
  );
  return content[0].text;
}

async function timed(step) {
  const start = performance.now();
  const cpu = process.cpuUsage();
  const said = await step();
  const { user, system } = process.cpuUsage(cpu);
  return { ms: performance.now() - start, cpuMs: (user + system) / 1000, said };
}

const warmUp = 5;
const bare = [];
const durable = [];
for (let round = 0; round < warmUp + Number(rounds); round++) {
  const turns = [
    async () => bare.push(await timed(bareStep)),
    async () => durable.push(await timed(durableStep)),
  ];
  if (round % 2 === 1) turns.reverse();
  for (const turn of turns) await turn();
}
await store.close();
console.log(JSON.stringify({ bare: bare.slice(warmUp), durable: durable.slice(warmUp) }));
