/** Opens a page in a browser that it has under a name, begins to wait there, and says so. Its parent kills it. */
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [url = "", shop = ""] = process.argv.slice(2);
const client = new Client({ name: "killed", version: "1.0.0" });
await client.connect(new StreamableHTTPClientTransport(new URL(url)));
await client.callTool({ name: "browser_navigate", arguments: { url: `${shop}#killed` } });
const waiting = client.callTool({ name: "browser_wait_for", arguments: { time: 20 } });
setTimeout(() => console.log("waits"), 500);
await waiting;
