import type { ActiveSessionSnapshot, SessionSnapshot } from "@durable-mcp/core";
import { endpointOf, type McpClientConnection } from "../connection/define-connection.ts";
import type { EndedSession, StoredSession } from "./session-reports.ts";
import type { SlotName } from "./slot-name.ts";

/** What is kept of one slot between steps, in a state or in a store. */
export interface KeptSession {
  readonly snapshot: SessionSnapshot;
  /** When the MCP session was made, in milliseconds since 1970-01-01 UTC. */
  readonly startedAt?: number | undefined;
  /** After how long without use the session of a name is ended, in milliseconds. */
  readonly idleTimeoutMs?: number | undefined;
  /** Sessions that nobody uses any more and that are still to be ended on the server. */
  readonly ending?: readonly ActiveSessionSnapshot[] | undefined;
}

/**
 * What becomes of what is kept when its sessions are ended:
 *
 * - `restart`: it stays, without the session.
 * - `idle`: as `restart`; and left alone when somebody else writes it meanwhile.
 * - `end`: removed, unless the session could not be ended.
 * - `sweep`: as `end`, but kept only once; and left alone when somebody else writes it meanwhile.
 * - `delete`: removed whatever happens.
 */
export type EndMode = "restart" | "idle" | "end" | "sweep" | "delete";

/** What is to be done to end what is kept. */
export interface EndPlan {
  /** `end`: the sessions, on their server. Without any: `leave` what is kept, or `forget` it. */
  readonly act: "end" | "leave" | "forget";
  readonly sessions: readonly ActiveSessionSnapshot[];
  /** How it went, once the sessions are ended. */
  readonly outcome: Pick<EndedSession, "ended" | "reason">;
}

/** What may be told of what is kept, or does not parse: everything but the session's id. */
export function describeKept(
  kept: KeptSession | undefined,
  lastUsedAt: number,
): Omit<StoredSession, keyof SlotName | "sessionId"> {
  if (kept === undefined) return { kind: "invalid", lastUsedAt };
  const { snapshot, startedAt, idleTimeoutMs } = kept;
  const use = { lastUsedAt, ...(idleTimeoutMs !== undefined && { idleTimeoutMs }) };
  if (snapshot.kind !== "session") return { kind: snapshot.kind, ...use };
  const { protocolVersion, serverInfo } = snapshot.initializeResult;
  const { toolList } = snapshot;
  return {
    kind: "session",
    ...use,
    ...(startedAt !== undefined && { startedAt }),
    protocolVersion,
    server: { name: serverInfo.name, version: serverInfo.version },
    ...(toolList && { tools: { count: toolList.tools.length, listedAt: toolList.listedAt } }),
  };
}

/** The session whose idle time-out is up. A session of another URL than its connection's is left alone. */
export function overdueSession(
  { snapshot, idleTimeoutMs }: KeptSession,
  lastUsedAt: number,
  definition: McpClientConnection,
  time: number,
): ActiveSessionSnapshot | undefined {
  const isOver = idleTimeoutMs !== undefined && time - lastUsedAt >= idleTimeoutMs;
  if (!isOver || snapshot.kind !== "session") return undefined;
  return snapshot.url === endpointOf(definition) ? snapshot : undefined;
}

/**
 * @param kept `undefined` for what does not parse
 * @param use.definition the connection's; `undefined` when there is none any more
 * @param use.isNamed whether a restart keeps the slot, with its name, also where there is no session
 */
export function planEnd(
  kept: KeptSession | undefined,
  use: {
    readonly definition: McpClientConnection | undefined;
    readonly mode: EndMode;
    readonly isNamed: boolean;
  },
): EndPlan {
  const { snapshot, ending = [] } = kept ?? {};
  const all = snapshot?.kind === "session" ? [...ending, snapshot] : ending;
  const url = use.definition && endpointOf(use.definition);
  const sessions = all.filter((session) => session.url === url);
  const outcome =
    sessions.length === all.length
      ? { ended: true }
      : { ended: false, reason: "undeclared" as const };
  if (sessions.length > 0) return { act: "end", sessions, outcome };
  const isWorthKeeping = snapshot !== undefined && (use.isNamed || snapshot.kind === "lost");
  const isLeft = isRestart(use.mode) && all.length === 0 && isWorthKeeping;
  return { act: isLeft ? "leave" : "forget", sessions, outcome };
}

/**
 * What becomes of what is kept after the attempt to end its sessions: it stays without a session
 * (`lost`), or for another attempt (`again`), or goes.
 *
 * @param attempt.wasTried whether there was an attempt before
 */
export function afterEnd(
  mode: EndMode,
  attempt: { readonly failed: boolean; readonly wasTried: boolean },
): "lost" | "again" | "forget" {
  const isLastAttempt = mode === "delete" || (mode === "sweep" && attempt.wasTried);
  if (attempt.failed && !isLastAttempt) return "again";
  return isRestart(mode) ? "lost" : "forget";
}

/** The snapshot of a session that was ended: the next use of the slot starts another. */
export function lostSnapshot({ url }: SessionSnapshot): SessionSnapshot {
  return { version: 1, kind: "lost", url };
}

/** A session without its tool list; `undefined` when there is none to forget. */
export function withoutToolList(snapshot: SessionSnapshot): ActiveSessionSnapshot | undefined {
  if (snapshot.kind !== "session" || !snapshot.toolList) return undefined;
  const { toolList: _, ...cleared } = snapshot;
  return cleared;
}

function isRestart(mode: EndMode): boolean {
  return mode === "restart" || mode === "idle";
}
