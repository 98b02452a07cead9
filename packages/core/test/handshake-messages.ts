// What clients of either era send to begin with.

export const initialize = {
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "c", version: "1" },
  },
};

export const initialized = { jsonrpc: "2.0", method: "notifications/initialized" };

/** The `server/discover` of a client that prefers 2026-07-28. */
export const probe = {
  jsonrpc: "2.0",
  id: "p",
  method: "server/discover",
  params: {
    _meta: {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": { name: "modern", version: "3" },
      "io.modelcontextprotocol/clientCapabilities": { elicitation: {} },
    },
  },
};

export const probeHeaders = {
  "mcp-protocol-version": "2026-07-28",
  "mcp-method": "server/discover",
};

/** What an old server answers to `probe`. */
export const methodNotFound = {
  jsonrpc: "2.0",
  id: "p",
  error: { code: -32601, message: "Method not found" },
};
