/** A tool as a client lists it. */
export interface ListedTool {
  readonly name: string;
  readonly inputSchema: unknown;
}

/** What the clients have in common that are no connection of ours. */
export interface PlainClient {
  readonly listTools: () => Promise<ListedTool[]>;
  /** Gives the client's own result, raw. */
  readonly callTool: (name: string, args: Record<string, unknown>) => Promise<unknown>;
  readonly readFirst: () => Promise<void>;
  readonly close: () => Promise<void>;
}

interface PlainClientOptions {
  readonly url: string;
  /** @default the client's own */
  readonly fetch?: typeof globalThis.fetch;
  /** What the client declares. @default that a person can be asked */
  readonly capabilities?: Partial<typeof askable>;
}

export type ConnectPlainClient = (options: PlainClientOptions) => Promise<PlainClient>;

/** A person can fill in forms and open URLs, only not now: there is no handler that answers at once. */
export const askable = { elicitation: { form: {}, url: {} } };

/** The methods of both clients for what is not a tool. */
interface Reader {
  listResources: () => Promise<{ resources: { uri: string }[] }>;
  readResource: (request: { uri: string }) => Promise<unknown>;
  listPrompts: () => Promise<{ prompts: { name: string }[] }>;
  getPrompt: (request: { name: string }) => Promise<unknown>;
}

/** Reads the first resource and gets the first prompt of the server. */
export async function readFirst(client: Reader): Promise<void> {
  const { resources } = await client.listResources();
  const { prompts } = await client.listPrompts();
  if (resources[0] === undefined || prompts[0] === undefined) {
    throw new Error("the server listed no resource or no prompt");
  }
  await client.readResource({ uri: resources[0].uri });
  await client.getPrompt({ name: prompts[0].name });
}
