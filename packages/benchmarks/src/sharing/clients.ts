import { createMCPClient, type InitializeResult } from "@ai-sdk/mcp";
import { createConnectionProvider, defineMcpClientConnection } from "@durable-mcp/ai-sdk";
import { MultiServerMCPClient } from "@langchain/mcp-adapters";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Client as ClientOfV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as TransportOfV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { loadMastra } from "../requests/mastra.ts";

/** A client that is connected. */
export interface OpenClient {
  readonly call: (name: string, args: Record<string, unknown>) => Promise<unknown>;
  /** Gives what another process can go on with, as JSON; `undefined` where the client has no option for it. */
  readonly close: () => Promise<unknown>;
}

export type OpenClientFor = (url: string, saved: unknown) => Promise<OpenClient>;

const clientInfo = { name: "step", version: "1.0.0" };

/** Clients as their documentation connects them; those that can go on with a session, with the options for it. */
export const clients: Readonly<Record<string, OpenClientFor>> = {
  "durable-mcp": async (url, saved) => {
    const server = defineMcpClientConnection({
      ...{ url, description: "Echoes.", session: "stateful", toolNames: { prefix: false } },
    });
    const provider = createConnectionProvider({ connections: { server } });
    const session = { state: (saved ?? {}) as Record<string, never> };
    const principal = { type: "anonymous" } as const;
    const registry = provider.create({ state: session.state, principal });
    const tools = await registry.tools();
    return {
      call: (name, args) => executeTool(tools[name], args),
      close: async () => {
        await registry.dispose();
        provider.commit(registry, session);
        return session.state;
      },
    };
  },
  "@ai-sdk/mcp": async (url) => {
    const client = await createMCPClient({ transport: { type: "http", url } });
    const tools = await client.tools();
    return {
      call: (name, args) => executeTool(tools[name], args),
      close: () => client.close(),
    };
  },
  "@ai-sdk/mcp, its session options": async (url, saved) => {
    const kept = saved as { id?: string; initializeResult: InitializeResult } | undefined;
    let id = kept?.id;
    const client = await createMCPClient({
      transport: {
        ...{ type: "http", url, terminateSessionOnClose: false },
        ...(id !== undefined && { initialSessionId: id }),
        onSessionIdChange: (changed) => (id = changed),
      },
      ...(kept && { initialInitializeResult: kept.initializeResult }),
    });
    const tools = await client.tools();
    return {
      call: (name, args) => executeTool(tools[name], args),
      close: async () => {
        const { initializeResult } = client;
        await client.close();
        return { id, initializeResult };
      },
    };
  },
  "SDK v1": async (url) => {
    const client = new ClientOfV1(clientInfo);
    await client.connect(new TransportOfV1(new URL(url)));
    return {
      call: (name, args) => client.callTool({ name, arguments: args }),
      close: () => client.close(),
    };
  },
  "SDK v1, a kept session id": async (url, saved) => {
    const kept = saved as { sessionId: string; version: string } | undefined;
    const transport = new TransportOfV1(new URL(url), {
      ...(kept && { sessionId: kept.sessionId }),
    });
    if (kept) transport.setProtocolVersion(kept.version);
    const client = new ClientOfV1(clientInfo);
    await client.connect(transport);
    return {
      call: (name, args) => client.callTool({ name, arguments: args }),
      close: async () => {
        const { sessionId, protocolVersion: version } = transport;
        await client.close();
        return { sessionId, version };
      },
    };
  },
  "client v2": async (url) => {
    const client = new Client(clientInfo, { versionNegotiation: { mode: "auto" } });
    await client.connect(new StreamableHTTPClientTransport(new URL(url)));
    return {
      call: (name, args) => client.callTool({ name, arguments: args }),
      close: () => client.close(),
    };
  },
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
  "@langchain/mcp-adapters": async (url) => {
    const client = new MultiServerMCPClient({ server: { url } });
    const tools = await client.getTools();
    return {
      call: async (name, args) => await tools.find((tool) => tool.name === name)!.invoke(args),
      close: () => client.close(),
    };
  },
  "@mastra/mcp": async (url) => {
    const { MCPClient } = await loadMastra();
    const client = new MCPClient({ servers: { server: { url: new URL(url) } } });
    const tools = await client.listTools();
    return {
      call: (name, args) => tools[`server_${name}`]!.execute(args, {}),
      close: () => client.disconnect(),
    };
  },
};

interface ExecutableTool {
  execute?: ((args: never, options: never) => unknown) | undefined;
}

async function executeTool(tool: ExecutableTool | undefined, args: object): Promise<unknown> {
  return await tool!.execute!(args as never, { toolCallId: "1", messages: [] } as never);
}
