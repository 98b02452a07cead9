import { createServer } from "node:net";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Server } from "@modelcontextprotocol/server";
import { proxyServer, startHTTPServer } from "mcp-proxy";

// mcp-proxy, as its library stands before a server behind a URL.
const target = new URL(process.argv[2]!);

const port = await new Promise<number>((resolve) => {
  const probe = createServer().listen(0, "127.0.0.1", () => {
    const address = probe.address() as { port: number };
    probe.close(() => resolve(address.port));
  });
});
await startHTTPServer({
  ...{ port, host: "127.0.0.1" },
  async createServer() {
    const client = new Client({ name: "mcp-proxy", version: "1.0.0" });
    await client.connect(new StreamableHTTPClientTransport(target));
    const serverCapabilities = client.getServerCapabilities() ?? {};
    const info = client.getServerVersion() ?? { name: "counter", version: "1.0.0" };
    const server = new Server(info, { capabilities: serverCapabilities });
    await proxyServer({ client, server, serverCapabilities });
    return server;
  },
});
process.send?.(port);
process.on("disconnect", () => process.exit());
