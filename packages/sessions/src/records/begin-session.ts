import type { ActiveSessionSnapshot, SessionSnapshot } from "@durable-mcp/core";
import { isLost } from "@durable-mcp/core/internal";
import { missingCapabilities } from "../connection/client-capabilities.ts";
import { type DeclaredClient, endpointOf, sessionOptions } from "../declare/define-connection.ts";
import { hasSession, type McpConnection } from "../declare/mcp-connection.ts";
import { lostSnapshot } from "./kept-session.ts";

/** What a step's slot begins with. */
export interface SessionBeginning {
  readonly snapshot: SessionSnapshot | undefined;
  /** The kept session, if the step replaces it. It is ended when another has taken its place. */
  readonly outdated?: ActiveSessionSnapshot | undefined;
  /** Whether the snapshot is to be saved although nothing has used it. */
  readonly isChanged?: boolean;
}

/**
 * Decides whether a step goes on in a kept session. It does not go on in one that is older than
 * `maxAgeMs`, and with `restartOnNewCapabilities` not in one that was made without a capability that is
 * declared now. What was kept when the definition said something else of sessions is dropped.
 *
 * @param startedAt the start of the session, if that is known elsewhere
 */
export function beginSession(
  definition: McpConnection | DeclaredClient | undefined,
  kept: SessionSnapshot | undefined,
  now: number,
  startedAt?: number,
): SessionBeginning {
  if (kept === undefined) return { snapshot: undefined };
  if (!suits(definition, kept)) return { snapshot: undefined, isChanged: true };
  if (!hasSession(definition) || kept.kind !== "session") return { snapshot: kept };
  if (kept.url !== endpointOf(definition)) return { snapshot: kept };
  const { restartOnNewCapabilities, maxAgeMs } = sessionOptions(definition);
  const isIncapable =
    restartOnNewCapabilities &&
    missingCapabilities(definition.options, kept.clientCapabilities).length > 0;
  const begunAt = kept.startedAt ?? startedAt;
  const isTooOld = maxAgeMs !== undefined && now - (begunAt ?? now) >= maxAgeMs;
  if (isIncapable || isTooOld) return { snapshot: lostSnapshot(kept), outdated: kept };
  if (maxAgeMs === undefined || begunAt !== undefined) return { snapshot: kept };
  // It was made before there was a limit, and counts from now on.
  return { snapshot: { ...kept, startedAt: now }, isChanged: true };
}

/** Whether a snapshot is of a session, or of memory alone, as the connection's definition is. */
function suits(
  definition: McpConnection | DeclaredClient | undefined,
  kept: SessionSnapshot,
): boolean {
  if (!hasSession(definition)) return kept.kind !== "session" && !isLost(kept);
  return kept.kind !== "sessionless" || kept.kept === undefined || "initializeResult" in kept;
}
