// One step of a kind: node step-kind.js <memory | token | park | answer> <origin of the server> <file> <number of the step>
import { readFileSync, writeFileSync } from "node:fs";
import { createDurableSessions, defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { createSqliteStore } from "@durable-mcp/stores/sqlite";

const [, , kind, origin, file, number] = process.argv;
const store = createSqliteStore({ path: file });
const description = "A shop.";
const principal = { type: "app" };
const url = `${origin}/${kind === "token" ? "private" : "shop"}/mcp`;
const auth = kind === "token" ? await createAuth() : undefined;
const waiting = kind === "park" || kind === "answer" ? true : undefined;
const sessions = createDurableSessions({
  connections: {
    shop: defineMcpClientConnection({ url, description, memory: "server", auth, waiting }),
  },
  store,
});
const said = await { memory: count, token: count, park, answer }[kind]();
await store.close();

process.on("exit", () => {
  const { maxRSS, userCPUTime, systemCPUTime } = process.resourceUsage();
  const cpuMs = (userCPUTime + systemCPUTime) / 1000;
  console.log(JSON.stringify({ said, maxRssKilobytes: maxRSS, cpuMs }));
});

/** The first step gets its token with the application's own credentials, and all others find it in the store. */
async function createAuth() {
  const { createOAuth } = await import("@durable-mcp/oauth");
  const secret = { clientId: "agent", clientSecret: "secret-of-the-agent" };
  return createOAuth({
    store,
    keys: { current: Buffer.alloc(32, 1).toString("base64") },
    redirectUrl: `${origin}/callback`,
    allowPrivateAddresses: true,
    clients: [{ issuer: origin, ...secret, clientCredentials: true, scopes: [] }],
  });
}

async function count() {
  const { content } = await sessions.run("chat", { principal }, async (run) =>
    (await run.tools()).shop__count.execute({}, { toolCallId: "call-1", messages: [] }),
  );
  return content[0].text;
}

/** The conversation is kept as an application would keep it. */
async function park() {
  const call = { toolCallId: "call-1", toolName: "shop__order" };
  const placeholder = await sessions.run(number, { principal }, async (run) =>
    (await run.tools()).shop__order.execute({}, { toolCallId: call.toolCallId, messages: [] }),
  );
  const output = { type: "json", value: placeholder };
  const messages = [
    { role: "user", content: "Order it." },
    { role: "assistant", content: [{ type: "tool-call", ...call, input: {} }] },
    { role: "tool", content: [{ type: "tool-result", ...call, output }] },
  ];
  writeFileSync(`${file}.json`, JSON.stringify(messages));
  return JSON.stringify(placeholder).includes("waiting") ? "waiting" : "settled";
}

/** A person's answer, and the step that goes on with its result. */
async function answer() {
  const [question] = await sessions.waiting(number, { principal });
  const responses = { confirm: { action: "accept", content: { ok: true } } };
  await sessions.answer(number, question.id, responses, { principal, round: question.round });
  const before = JSON.parse(readFileSync(`${file}.json`, "utf8"));
  const resumed = await sessions.run(number, { principal }, async (run) =>
    run.waiting.resume(before, { tools: await run.tools() }),
  );
  return JSON.stringify(resumed.messages).includes("ordered") ? "ordered" : "not ordered";
}
