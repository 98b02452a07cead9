/** Not a credential: the benchmark's own server takes any id. */
export const sessionId = "benchmark-session";

export const initializeResult = {
  protocolVersion: "2025-11-25",
  capabilities: { tools: {} },
  serverInfo: { name: "benchmark-server", version: "1" },
};
