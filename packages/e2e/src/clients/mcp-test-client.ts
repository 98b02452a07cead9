/** What the tests need of any MCP client. */
export interface McpTestClient {
  listTools: () => Promise<string[]>;
  callTool: (name: string, args: Record<string, unknown>) => Promise<ToolOutcome>;
  close: () => Promise<void>;
}

export interface ToolOutcome {
  /** The text parts, joined. */
  text: string;
  isError: boolean;
  raw: unknown;
}

export type ConnectMcpTestClient = (options: {
  url: string;
  fetch: typeof fetch;
}) => Promise<McpTestClient>;

/** Reads a `tools/call` result, whichever client's type it has. */
export function toolOutcome(raw: unknown): ToolOutcome {
  const result = raw as { content?: { type: string; text?: string }[]; isError?: boolean };
  const texts = (result.content ?? [])
    .filter((part) => part.type === "text")
    .map((part) => part.text ?? "");
  return { text: texts.join("\n"), isError: result.isError === true, raw };
}
