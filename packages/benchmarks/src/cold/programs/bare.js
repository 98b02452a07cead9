// One step of @ai-sdk/mcp alone: node bare.js <url> [leave | end] [model]
import { createMCPClient } from "@ai-sdk/mcp";
import { useTool } from "./use-tool.js";

const [, , url, end, model] = process.argv;
const client = await createMCPClient({
  // By default it ends the session that it has made.
  transport: { type: "http", url, terminateSessionOnClose: end !== "leave" },
});
const said = await useTool(await client.tools(), "count", model !== undefined);
await client.close();

process.on("exit", () => {
  const { maxRSS, userCPUTime, systemCPUTime } = process.resourceUsage();
  const cpuMs = (userCPUTime + systemCPUTime) / 1000;
  console.log(JSON.stringify({ said, maxRssKilobytes: maxRSS, cpuMs }));
});
