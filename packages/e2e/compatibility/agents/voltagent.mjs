/** `node voltagent.mjs <model> <server>`: an agent of VoltAgent, which takes no `fetch`. */
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { Agent, MCPConfiguration } from "@voltagent/core";

const [model, url] = process.argv.slice(2);
const mcp = new MCPConfiguration({ servers: { notebook: { type: "streamable-http", url } } });
const scripted = createOpenAICompatible({ name: "scripted", baseURL: `${model}/v1` });
const agent = new Agent({
  ...{ name: "notebook", instructions: "Call the tools.", maxSteps: 20 },
  model: scripted("scripted"),
  tools: await mcp.getTools(),
});
console.log((await agent.generateText("Go.")).text);
await mcp.disconnect();
process.exit();
