import type { OAuthClientProvider } from "@ai-sdk/mcp";

/** A tool as a client lists it. */
export interface ListedTool {
  readonly name: string;
  readonly inputSchema: unknown;
}

/** What the clients have in common that are no connection of ours. */
export interface OwnClient {
  readonly connect: () => Promise<void>;
  readonly listTools: () => Promise<ListedTool[]>;
  /** Gives the client's own result, raw. */
  readonly callTool: (name: string, args: Record<string, unknown>) => Promise<unknown>;
  /** Reads the first resource and gets the first prompt of the server. */
  readonly readFirst: () => Promise<void>;
  /** After a 401 or 403: exchanges the code in the callback URL's query for tokens. */
  readonly finishAuthorization: (callback: URLSearchParams) => Promise<void>;
  readonly close: () => Promise<void>;
}

export interface OwnClientOptions {
  readonly url: string;
  /** @default the client's own */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** What the client declares. @default nothing */
  readonly capabilities?: { readonly elicitation?: { form?: {}; url?: {} } };
  readonly authProvider?: OAuthClientProvider;
  /** Whether to answer the server's questions with the form as it is filled in advance. @default false */
  readonly acceptsForms?: boolean;
}

export type CreateOwnClient = (options: OwnClientOptions) => OwnClient;

export async function connectOwnClient(
  create: CreateOwnClient,
  options: OwnClientOptions,
): Promise<OwnClient> {
  const client = create(options);
  await client.connect();
  return client;
}

/** A person can fill in forms and open URLs, only not now: there is no handler that answers at once. */
export const askable = { elicitation: { form: {}, url: {} } };

/** The methods of all clients for what is not a tool. */
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

export interface ToolOutcome {
  /** The text parts, joined. */
  text: string;
  isError: boolean;
  raw: unknown;
}

/** Reads a `tools/call` result, whichever client's type it has. */
export function toolOutcome(raw: unknown): ToolOutcome {
  const result = raw as { content?: { type: string; text?: string }[]; isError?: boolean };
  const texts = (result.content ?? [])
    .filter((part) => part.type === "text")
    .map((part) => part.text ?? "");
  return { text: texts.join("\n"), isError: result.isError === true, raw };
}

/** The text of a `tools/call` result that must be no error. */
export function textOf(raw: unknown): string {
  const { text, isError } = toolOutcome(raw);
  if (isError) throw new Error(`the tool failed: ${text}`);
  return text;
}

/** A form as it is filled in advance: the defaults that the server named. */
export function filledForm(requestedSchema: unknown): Record<string, never> {
  const { properties = {} } = requestedSchema as {
    properties?: Record<string, { default?: unknown }>;
  };
  const defaults = Object.entries(properties).flatMap(([name, property]) =>
    property.default === undefined ? [] : [[name, property.default]],
  );
  return Object.fromEntries(defaults) as Record<string, never>;
}
