import { isLost, isNewerFormat, isRecord, toolsIn } from "@durable-mcp/core/internal";
import type { ActiveSessionSnapshot, Principal, SessionSnapshot } from "@durable-mcp/core";
import { type DeclaredServer, endpointOf } from "../declare/define-connection.ts";
import type { EndedSession, StoredSession } from "./session-reports.ts";
import type { SlotName } from "./step-slot.ts";

/** A slot in a state or a store, between steps. */
export interface KeptSession {
  readonly snapshot: SessionSnapshot;
  /** The start of the MCP session, in milliseconds since 1970-01-01 UTC. */
  readonly startedAt?: number | undefined;
  /** A named session is ended after this time without use, in milliseconds. */
  readonly idleTimeoutMs?: number | undefined;
  /** Sessions without a user, still to be ended on the server. */
  readonly ending?: readonly ActiveSessionSnapshot[] | undefined;
}

/**
 * What happens to a kept slot when its sessions are ended:
 *
 * - `restart`: the slot stays, without a session.
 * - `idle`: like `restart`, unless another process writes the slot meanwhile.
 * - `end`: the slot is removed. If its session cannot be ended, it stays for another attempt.
 * - `sweep`: like `end`, with one more attempt at most, and unless another process writes the slot
 *   meanwhile.
 * - `delete`: the slot is always removed.
 */
export type EndMode = "restart" | "idle" | "end" | "sweep" | "delete";

/** For whom and how a kept slot's sessions are ended. */
export interface EndUse {
  readonly principal: Principal;
  /** The connection's definition; `undefined` if it is no longer declared. */
  readonly definition: DeclaredServer | undefined;
  readonly mode: EndMode;
  /** For each request to a server, in milliseconds. @default 5000 */
  readonly timeoutMs?: number | undefined;
}

interface EndPlan {
  /**
   * `end` the sessions on their server; without sessions that can be ended there, `leave` the slot, `forget` it, or
   * keep that its session is lost (`lose`), and these to end them where another connection is declared.
   */
  readonly act: "end" | "leave" | "forget" | "lose";
  readonly sessions: readonly ActiveSessionSnapshot[];
  /** The result, if the server ends all these sessions. */
  readonly outcome: Pick<EndedSession, "ended" | "reason">;
}

/** Describes a kept slot, `undefined` if it does not parse, without its session's id. */
export function describeKept(
  kept: KeptSession | undefined,
  lastUsedAt: number,
): Omit<StoredSession, keyof SlotName | "sessionId"> {
  if (kept === undefined) return { kind: "invalid", lastUsedAt };
  const { snapshot, startedAt, idleTimeoutMs } = kept;
  const hasStart = snapshot.kind === "session" && startedAt !== undefined;
  return {
    ...describeSnapshot(snapshot),
    lastUsedAt,
    ...(idleTimeoutMs !== undefined && { idleTimeoutMs }),
    ...(hasStart && { startedAt }),
  };
}

/** Describes a slot's snapshot without its session's id. */
export function describeSnapshot(snapshot: SessionSnapshot) {
  const kind = kindOf(snapshot);
  if (!("initializeResult" in snapshot) || snapshot.initializeResult === undefined) {
    const version = keptVersion(snapshot);
    return { kind, ...(version !== undefined && { protocolVersion: version }) };
  }
  const { protocolVersion, serverInfo } = snapshot.initializeResult;
  const { current } = toolsIn(snapshot);
  return {
    kind,
    protocolVersion,
    server: { name: serverInfo.name, version: serverInfo.version },
    ...(current && { tools: { count: current.tools.length, listedAt: current.listedAt } }),
  };
}

function kindOf(snapshot: SessionSnapshot): SessionSnapshot["kind"] | "lost" | "remembered" {
  if (isLost(snapshot)) return "lost";
  return snapshot.kind === "sessionless" && snapshot.kept ? "remembered" : snapshot.kind;
}

/** The first revision without a handshake. */
export const firstWithDiscovery = "2026-07-28";

/** The revision of a kept handshake, or of a kept discovery; `undefined` if the next step has neither. */
export function keptVersion(snapshot: SessionSnapshot): string | undefined {
  if ("initializeResult" in snapshot) return snapshot.initializeResult?.protocolVersion;
  const kept = "kept" in snapshot ? (snapshot.kept ?? []) : [];
  return kept.some(({ method }) => method === "server/discover") ? firstWithDiscovery : undefined;
}

/**
 * Decides how to end the sessions of a kept slot, `undefined` if it does not parse.
 *
 * @param use.isNamed whether the slot has a name: a restart keeps the name, even without a session
 */
export function planEnd(
  kept: KeptSession | undefined,
  use: Pick<EndUse, "definition" | "mode"> & { readonly isNamed: boolean },
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
  if (!isRestart(use.mode)) return { act: "forget", sessions, outcome };
  // The model is told of a session that nobody can read, or that was at another URL.
  const wasSession = snapshot === undefined || all.length > 0;
  if (url !== undefined && wasSession) return { act: "lose", sessions: all, outcome };
  const isLeft = all.length === 0 && (use.isNamed || (snapshot !== undefined && isLost(snapshot)));
  return { act: isLeft ? "leave" : "forget", sessions, outcome };
}

/**
 * Decides what happens to a slot after the attempt to end its sessions: it stays without a session
 * (`lost`), stays for another attempt (`again`), or goes (`forget`).
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

/** Whether a later release wrote a record or an entry, or the snapshot in it. It must not be replaced. */
export function isNewerEntry(value: unknown): boolean {
  return isNewerFormat(value) || (isRecord(value) && isNewerFormat(value["snapshot"]));
}

/** The snapshot of a session that was ended: the next use of the slot starts another. */
export function lostSnapshot({
  url,
  toolList,
}: Pick<ActiveSessionSnapshot, "url" | "toolList">): SessionSnapshot {
  const lost = { version: 1, kind: "sessionless", url, lost: {} } as const;
  return toolsIn({ ...lost, toolList }).outdated ?? lost;
}

function isRestart(mode: EndMode): boolean {
  return mode === "restart" || mode === "idle";
}
