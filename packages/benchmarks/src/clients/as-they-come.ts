import { createMCPClient, type InitializeResult } from "@ai-sdk/mcp";
import { MultiServerMCPClient } from "@langchain/mcp-adapters";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Client as ClientOfV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as TransportOfV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { loadMastra } from "./mastra.ts";

/** A client that is connected. */
export interface OpenClient {
  /** Lists the tools, where the client can call one without. */
  readonly list?: () => Promise<unknown>;
  readonly call: (name: string, args: Record<string, unknown>) => Promise<unknown>;
  /** Gives what another process can go on with, as JSON; `undefined` where the client has no option for it. */
  readonly close: () => Promise<unknown>;
}

export type OpenClientFor = (url: string, saved: unknown) => Promise<OpenClient>;

export const clientInfo = { name: "step", version: "1.0.0" };

/** Clients as their documentation connects them; those that can go on with a session, with the options for it. */
export const clientsAsTheyCome = {
  "@ai-sdk/mcp": async (url) => {
    const client = await createMCPClient({ transport: { type: "http", url } });
    const tools = await client.tools();
    return {
      call: (name, args) => executeTool(tools[name], args),
      close: () => client.close(),
    };
  },
  "@ai-sdk/mcp, its session options": (url, saved) => withSessionOptions(url, saved, false),
  "SDK v1": async (url) =>
    openOfficial(new ClientOfV1(clientInfo), new TransportOfV1(new URL(url))),
  "SDK v1, a kept session id": async (url, saved) => {
    const kept = saved as { sessionId?: string; version?: string } | undefined;
    const transport = new TransportOfV1(new URL(url), {
      ...(kept?.sessionId !== undefined && { sessionId: kept.sessionId }),
    });
    if (kept?.version !== undefined) transport.setProtocolVersion(kept.version);
    const client = await openOfficial(new ClientOfV1(clientInfo), transport);
    return {
      ...client,
      close: async () => {
        const { sessionId, protocolVersion: version } = transport;
        await client.close();
        return { sessionId, version };
      },
    };
  },
  "client v2": async (url) => {
    const client = new Client(clientInfo, { versionNegotiation: { mode: "auto" } });
    return await openOfficial(client, new StreamableHTTPClientTransport(new URL(url)));
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
} satisfies Record<string, OpenClientFor>;

interface KeptByAiSdk {
  readonly id?: string;
  readonly initializeResult: InitializeResult;
  readonly list: Awaited<ReturnType<Awaited<ReturnType<typeof createMCPClient>>["listTools"]>>;
}

/** A result of discovery is no `InitializeResult` to go on with: it would force the session era. */
export async function withSessionOptions(
  url: string,
  saved: unknown,
  keepsList: boolean,
): Promise<OpenClient> {
  const kept = saved as KeptByAiSdk | undefined;
  let id = kept?.id;
  const client = await createMCPClient({
    transport: {
      ...{ type: "http", url, terminateSessionOnClose: false },
      ...(id !== undefined && { initialSessionId: id }),
      onSessionIdChange: (changed) => (id = changed),
    },
    ...(kept && { initialInitializeResult: kept.initializeResult }),
  });
  const list = keepsList && kept ? kept.list : await client.listTools();
  const tools = client.toolsFromDefinitions(list);
  return {
    call: (name, args) => executeTool(tools[name], args),
    close: async () => {
      const { initializeResult } = client;
      await client.close();
      const isModern = initializeResult.protocolVersion >= "2026-07-28";
      return isModern ? undefined : { id, initializeResult, list };
    },
  };
}

/** Both official clients; they do not share types. */
async function openOfficial<TRANSPORT>(
  client: {
    connect: (transport: TRANSPORT) => Promise<void>;
    listTools: () => Promise<unknown>;
    callTool: (call: { name: string; arguments: Record<string, unknown> }) => Promise<unknown>;
    close: () => Promise<void>;
  },
  transport: TRANSPORT,
): Promise<OpenClient> {
  await client.connect(transport);
  return {
    list: () => client.listTools(),
    call: (name, args) => client.callTool({ name, arguments: args }),
    close: () => client.close(),
  };
}

interface ExecutableTool {
  execute?: ((args: never, options: never) => unknown) | undefined;
}

export async function executeTool(
  tool: ExecutableTool | undefined,
  args: object,
): Promise<unknown> {
  return await tool!.execute!(args as never, { toolCallId: "1", messages: [] } as never);
}
