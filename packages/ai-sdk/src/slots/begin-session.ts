import type { ActiveSessionSnapshot, SessionSnapshot } from "@durable-mcp/core";
import { missingCapabilities } from "../connection/client-capabilities.ts";
import { endpointOf, sessionOptions } from "../connection/define-connection.ts";
import { hasSession, type McpConnection } from "../connection/mcp-connection.ts";
import { lostSnapshot } from "./kept-session.ts";

/** What a step's slot begins with. */
export interface SessionBeginning {
  readonly snapshot: SessionSnapshot | undefined;
  /** The kept session, if the step replaces it. It is ended when another has taken its place. */
  readonly outdated?: ActiveSessionSnapshot | undefined;
}

/**
 * Decides whether a step goes on in a kept session. With `restartOnNewCapabilities` it does not go on in
 * one that was made without a capability that is declared now.
 */
export function beginSession(
  definition: McpConnection | undefined,
  kept: SessionSnapshot | undefined,
): SessionBeginning {
  if (!hasSession(definition) || kept?.kind !== "session") return { snapshot: kept };
  const isOwn = kept.url === endpointOf(definition);
  const { restartOnNewCapabilities = false } = sessionOptions(definition);
  if (!isOwn || !restartOnNewCapabilities) return { snapshot: kept };
  const missing = missingCapabilities(definition.options, kept.clientCapabilities);
  if (missing.length === 0) return { snapshot: kept };
  return { snapshot: lostSnapshot(kept), outdated: kept };
}
