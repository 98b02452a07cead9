// One step of an application with Mastra, as `before.ts`.
import { MCPClient } from "@mastra/mcp";

const [, url, tool, input] = process.argv.slice(2);
const client = new MCPClient({ servers: { cart: { url: new URL(url) } } });
const tools = await client.listTools();
const result = await tools[`cart_${tool}`].execute(JSON.parse(input), {});
await client.disconnect();
console.log(JSON.stringify(result));
process.exit();
