import { createSessionFetch, createSessionSlot } from "@durable-mcp/core";

/** Not a credential: the benchmark's own server takes any id. */
export const sessionId = "benchmark-session";

export const initializeResult = {
  protocolVersion: "2025-11-25",
  capabilities: { tools: {} },
  serverInfo: { name: "benchmark-server", version: "1" },
};

/** The session fetch of a step that resumes a session. */
export function createResumedFetch(url: string, fetch?: typeof globalThis.fetch) {
  const slot = createSessionSlot({
    version: 1,
    kind: "session",
    url: new URL(url).href,
    sessionId,
    initializeResult,
    clientCapabilities: {},
  });
  return createSessionFetch({ url, slot, fetch });
}
