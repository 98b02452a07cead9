import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { askable, type ConnectPlainClient, readFirst } from "./plain-client.ts";

/** `@modelcontextprotocol/client` 2, which asks the server for its revision. */
export const connectClient2: ConnectPlainClient = async ({
  url,
  fetch,
  capabilities = askable,
}) => {
  const client = new Client(
    { name: "durable-mcp", version: "1.0.0" },
    { capabilities, versionNegotiation: { mode: "auto" } },
  );
  await client.connect(
    new StreamableHTTPClientTransport(new URL(url), { ...(fetch && { fetch }) }),
  );
  return {
    listTools: async () => (await client.listTools()).tools,
    callTool: (name, args) => client.callTool({ name, arguments: args }),
    readFirst: () => readFirst(client),
    close: () => client.close(),
  };
};
