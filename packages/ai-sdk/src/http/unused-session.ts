import type { ConnectionStep } from "../connection/live-connection.ts";
import type { McpClientConnection } from "../connection/define-connection.ts";
import { handshakeMethod } from "./handshake-method.ts";

interface Used extends Pick<ConnectionStep, "context" | "emit"> {
  readonly definition: McpClientConnection;
}

/** Tells of a session that a server begins and the definition says nothing of. */
export function tellUnusedSession(
  { definition, context: { connection }, emit }: Used,
  body: unknown,
  { ok, headers }: Response,
): void {
  const { session, input } = definition.options;
  if (session !== undefined || input !== undefined) return;
  if (!ok || !headers.has("mcp-session-id") || handshakeMethod(body) !== "initialize") return;
  emit({ type: "session-unused", connection });
}
