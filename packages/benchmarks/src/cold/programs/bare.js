// One step of @ai-sdk/mcp alone: node bare.js <url> [leave]
import { createMCPClient } from "@ai-sdk/mcp";

const [, , url, end] = process.argv;
const client = await createMCPClient({
  // By default it ends the session that it has made.
  transport: { type: "http", url, terminateSessionOnClose: end !== "leave" },
});
const { count } = await client.tools();
const { content } = await count.execute({}, { toolCallId: "call-1", messages: [] });
await client.close();

process.on("exit", () => {
  const { maxRSS, userCPUTime, systemCPUTime } = process.resourceUsage();
  const cpuMs = (userCPUTime + systemCPUTime) / 1000;
  console.log(JSON.stringify({ said: content[0].text, maxRssKilobytes: maxRSS, cpuMs }));
});
