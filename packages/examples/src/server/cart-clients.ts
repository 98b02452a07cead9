import { createMCPClient } from "@ai-sdk/mcp";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Client as ClientOfSdk1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as TransportOfSdk1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

/** A client of the cart, whatever its library. */
export interface CartClient {
  readonly name: string;
  /** The protocol revision of its last request. */
  readonly revision: string;
  readonly addItem: (item: string) => Promise<void>;
  readonly readItems: () => Promise<readonly string[]>;
  readonly close: () => Promise<void>;
}

/** Calls a tool, and gives what the library gives. */
type CallTool = (name: string, args: Record<string, unknown>) => Promise<unknown>;

interface Connected {
  readonly callTool: CallTool;
  readonly close: () => Promise<void>;
}

type Connect = (url: URL, fetch: typeof globalThis.fetch) => Promise<Connected>;

const clientInfo = { name: "demo", version: "1.0.0" };

const libraries: readonly (readonly [name: string, connect: Connect])[] = [
  [
    "@modelcontextprotocol/sdk 1",
    async (url, fetch) => {
      const client = new ClientOfSdk1(clientInfo);
      await client.connect(new TransportOfSdk1(url, { fetch }));
      return {
        callTool: (name, args) => client.callTool({ name, arguments: args }),
        close: () => client.close(),
      };
    },
  ],
  [
    "@ai-sdk/mcp 2",
    async (url, fetch) => {
      const transport = { type: "http", url: url.href, fetch } as const;
      // It stays with sessions; by default it prefers the revision without them.
      const client = await createMCPClient({ transport, protocolVersionDiscovery: false });
      const tools = await client.tools();
      const callTool: CallTool = async (name, args) =>
        await tools[name]?.execute?.(args, { toolCallId: name, messages: [], context: {} });
      return { callTool, close: () => client.close() };
    },
  ],
  [
    "@modelcontextprotocol/client 2",
    async (url, fetch) => {
      const client = new Client(clientInfo, { versionNegotiation: { mode: "auto" } });
      await client.connect(new StreamableHTTPClientTransport(url, { fetch }));
      return {
        callTool: (name, args) => client.callTool({ name, arguments: args }),
        close: () => client.close(),
      };
    },
  ],
];

/** Three clients of one user: two with a session, one of the revision without. */
export function connectClients(url: URL): Promise<CartClient[]> {
  return Promise.all(libraries.map(([name, connect]) => connectClient(url, name, connect)));
}

async function connectClient(url: URL, name: string, connect: Connect): Promise<CartClient> {
  let revision = "";
  const watchedFetch: typeof fetch = async (input, init) => {
    const request = new Request(input, init);
    request.headers.set("authorization", "Bearer of-ada");
    revision = request.headers.get("mcp-protocol-version") ?? revision;
    return await fetch(request);
  };
  const { callTool, close } = await connect(url, watchedFetch);
  return {
    ...{ name, close },
    get revision() {
      return revision;
    },
    addItem: async (item) => void textOf(await callTool("add_item", { item })),
    readItems: async () => textOf(await callTool("list_items", {})).split("\n"),
  };
}

function textOf(result: unknown): string {
  const { content, isError } = result as { content: { text: string }[]; isError?: boolean };
  const text = content.map((part) => part.text).join("\n");
  if (isError === true) throw new Error(text);
  return text;
}
