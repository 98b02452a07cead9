import type { ActiveSessionSnapshot } from "../src/session/session-snapshot.ts";

export const initializeResult = {
  protocolVersion: "2025-11-25",
  capabilities: { tools: {} },
  serverInfo: { name: "test-server", version: "1" },
};

/** A snapshot that no server has to know. */
export function sessionSnapshot(
  url: string,
  fields: Partial<ActiveSessionSnapshot> = {},
): ActiveSessionSnapshot {
  return {
    version: 1,
    kind: "session",
    url,
    sessionId: "secret-session",
    initializeResult,
    clientCapabilities: {},
    ...fields,
  };
}
