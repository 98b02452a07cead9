let id = 0;

/** An MCP client's POST of a tool call. */
export function createToolCall(): RequestInit {
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
