import { createConnectionProvider, defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import {
  clientInfo,
  clientsAsTheyCome,
  executeTool,
  type OpenClientFor,
} from "../clients/as-they-come.ts";

const { "@langchain/mcp-adapters": langChain, "@mastra/mcp": mastra, ...first } = clientsAsTheyCome;

/** A connection of ours, and the clients that it is compared with, in the order of the page. */
export const clients: Readonly<Record<string, OpenClientFor>> = {
  "durable-mcp": async (url, saved) => {
    const server = defineMcpClientConnection({
      ...{ url, description: "Echoes.", session: "stateful", toolNames: { prefix: false } },
    });
    const provider = createConnectionProvider({ connections: { server } });
    const session = { state: (saved ?? {}) as Record<string, never> };
    const principal = { type: "anonymous" } as const;
    const run = provider.create({ state: session.state, principal });
    const tools = await run.tools();
    return {
      call: (name, args) => executeTool(tools[name], args),
      close: async () => {
        await run.dispose();
        provider.commit(run, session);
        return session.state;
      },
    };
  },
  ...first,
  "client v2, a kept session id": async (url, saved) => {
    const kept = saved as { sessionId: string; protocolVersion: string } | undefined;
    const transport = new StreamableHTTPClientTransport(new URL(url), { ...kept });
    const client = new Client(clientInfo, { versionNegotiation: { mode: "auto" } });
    await client.connect(transport, { ...(kept && { prior: { kind: "legacy" } }) });
    return {
      call: (name, args) => client.callTool({ name, arguments: args }),
      close: async () => {
        const { sessionId, protocolVersion } = transport;
        await client.close();
        return { sessionId, protocolVersion };
      },
    };
  },
  "@langchain/mcp-adapters": langChain,
  "@mastra/mcp": mastra,
};
