// One step of @ai-sdk/mcp with its own session options: node own-session.js <url> <file>
// All that they can carry over is carried over, by hand: the id, the handshake's result and the tools' definitions.
import { readFile, writeFile } from "node:fs/promises";
import { createMCPClient } from "@ai-sdk/mcp";

const [, , url, path] = process.argv;
const kept = JSON.parse(await readFile(path, "utf8").catch(() => "{}"));
let { sessionId } = kept;
const client = await createMCPClient({
  transport: {
    type: "http",
    url,
    terminateSessionOnClose: false,
    initialSessionId: sessionId,
    initialProtocolVersion: kept.initializeResult?.protocolVersion,
    onSessionIdChange: (id) => {
      sessionId = id;
    },
  },
  initialInitializeResult: kept.initializeResult,
});
const definitions = kept.definitions ?? (await client.listTools());
const { count } = client.toolsFromDefinitions(definitions);
const { content } = await count.execute({}, { toolCallId: "call-1", messages: [] });
const { initializeResult } = client;
await writeFile(path, JSON.stringify({ sessionId, initializeResult, definitions }));
await client.close();

process.on("exit", () => {
  const { maxRSS, userCPUTime, systemCPUTime } = process.resourceUsage();
  const cpuMs = (userCPUTime + systemCPUTime) / 1000;
  console.log(JSON.stringify({ said: content[0].text, maxRssKilobytes: maxRSS, cpuMs }));
});
