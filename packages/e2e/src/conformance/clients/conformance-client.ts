import type { OAuthClientProvider } from "@ai-sdk/mcp";

/** What the scenarios need of any MCP client. */
export interface ConformanceClient {
  connect: () => Promise<void>;
  listTools: () => Promise<{ name: string; inputSchema: unknown }[]>;
  /** Calls a tool and returns the text of its answer. */
  callTool: (name: string, args: Record<string, unknown>) => Promise<string>;
  /** After a 401 or 403: exchanges the code in the callback URL's query for tokens. */
  finishAuthorization: (callback: URLSearchParams) => Promise<void>;
  close: () => Promise<void>;
  /** What to save once it is closed, when the session is the client's own to keep. */
  saved?: () => unknown;
}

interface ConformanceClientOptions {
  url: string;
  /** @default the client's own */
  fetch: typeof globalThis.fetch | undefined;
  /** What a client that keeps the session itself left. */
  saved: unknown;
  authProvider: OAuthClientProvider;
  /** Whether to declare elicitation and to answer it with the form as it is filled in advance. */
  elicitation: boolean;
}

export interface ConformanceClientKind {
  create: (options: ConformanceClientOptions) => ConformanceClient;
  /** Whether the client is not put on a session fetch: it brings its own, or shows what is missing. */
  hasOwnFetch?: boolean;
}

/** That the application gives one allows the authorization server, which is another origin. */
export const vouchingFetch: typeof globalThis.fetch = (input, init) =>
  globalThis.fetch(input, init);

/** Reads a `tools/call` result, whichever client's type it has. */
export function textOf(raw: unknown): string {
  const result = raw as { content?: { type: string; text?: string }[]; isError?: boolean };
  const text = (result.content ?? []).map((part) => part.text ?? "").join("\n");
  if (result.isError) throw new Error(`the tool failed: ${text}`);
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
