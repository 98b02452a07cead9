let id = 0;

export interface ToolCall {
  readonly method: "POST";
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** An MCP client's POST of a tool call. */
export function createToolCall(): ToolCall {
  id += 1;
  return {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id,
      method: "tools/call",
      params: { name: "read", arguments: { path: "notes.txt" } },
    }),
  };
}
