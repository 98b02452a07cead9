import { invalidOption } from "../base/check-option.ts";
import { isOwned, isRecord, maxValueLength } from "../base/json-values.ts";
import { McpSessionError } from "../base/mcp-session-error.ts";
import {
  anyInitializeResult,
  anySnapshot,
  isNewerFormat,
  isSessionId,
  type KeptMethod,
  newerFormat,
} from "./snapshot-shape.ts";

/** The newest protocol revision that has sessions; offered when the fetch initializes by itself. */
export const LATEST_SESSION_VERSION = "2025-11-25";

/** A kept snapshot is smaller, because a store's record has the same limit and other fields too. */
export const MAX_KEPT_LENGTH = 900_000;
const MAX_DEPTH = 64;

/**
 * The result of an `initialize`, as the server sent it.
 * @see https://modelcontextprotocol.io/specification/2025-11-25/schema#initializeresult
 */
export type InitializeResult = {
  protocolVersion: string;
  capabilities: Record<string, unknown>;
  serverInfo: { name: string; version: string; [key: string]: unknown };
  instructions?: string | undefined;
  [key: string]: unknown;
};

/** One tool definition of a `tools/list`, as the server sent it. */
export type ToolDefinition = {
  name: string;
  inputSchema: Record<string, unknown>;
  [key: string]: unknown;
};

/** A complete tool list: all pages, raw. */
export interface ToolList {
  readonly tools: ToolDefinition[];
  /**
   * The arrival of the last page, in milliseconds since 1970-01-01 UTC. -1: the list is outdated, and only
   * compared with the next one.
   */
  readonly listedAt: number;
}

/** Requests of the client that hold for the rest of the session. A recovery makes them again. */
export interface StandingRequests {
  /** The URIs of `resources/subscribe`. */
  readonly subscriptions?: readonly string[] | undefined;
  /** The level of `logging/setLevel`. */
  readonly logLevel?: string | undefined;
}

interface SnapshotOf<KIND extends string> {
  readonly version: 1;
  readonly kind: KIND;
  /** The one URL of the session. Its id may go nowhere else. */
  readonly url: string;
  /** It took the place of a lost session, and nobody has been told yet. */
  readonly replacesLost?: true | undefined;
}

/** A session that the server named with an `Mcp-Session-Id`. The id is a credential. */
export interface ActiveSessionSnapshot extends SnapshotOf<"session">, StandingRequests {
  readonly sessionId: string;
  readonly initializeResult: InitializeResult;
  /** The client's capabilities in the handshake of the session, and its name and version, if it gave them. */
  readonly clientCapabilities: Record<string, unknown>;
  readonly clientInfo?: Record<string, unknown> | undefined;
  readonly toolList?: ToolList | undefined;
  /**
   * Since then, in milliseconds since 1970-01-01 UTC, a 404 was the answer to requests on the session and
   * to `initialize` alike.
   */
  readonly refusedSince?: number | undefined;
  /** The server names another session with each answer, which means nothing. */
  readonly namesVary?: true | undefined;
  /**
   * The start of the session, in milliseconds since 1970-01-01 UTC. The fetch keeps it, but does not set
   * it: `onSession` can.
   */
  readonly startedAt?: number | undefined;
}

/**
 * No session: `initialize` named none, the session was lost, or none was asked for. Later steps use
 * `initializeResult` for as long as a tool list; without it they make the handshake again.
 */
export interface SessionlessSnapshot extends SnapshotOf<"sessionless"> {
  /** The session was lost, and no other has taken its place yet. */
  readonly lost?: StandingRequests | undefined;
  readonly initializeResult?: InitializeResult | undefined;
  /** The end of the handshake, in milliseconds since 1970-01-01 UTC. */
  readonly keptAt?: number | undefined;
  readonly toolList?: ToolList | undefined;
  /** The server refused the `server/discover` of the client that made the handshake. */
  readonly refusesProbe?: true | undefined;
  /** The results that a memory keeps. */
  readonly kept?: readonly KeptResult[] | undefined;
}

/** The server refused `initialize`, because it only speaks revisions without sessions. */
export interface StatelessSnapshot extends SnapshotOf<"stateless"> {
  /** The time of the refusal, in milliseconds since 1970-01-01 UTC. */
  readonly decidedAt: number;
  /** The results that a memory keeps. */
  readonly kept?: readonly KeptResult[] | undefined;
}

/**
 * A result that the server, or the application, allows to keep: discovery, or a page of a list.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching
 */
export interface KeptResult {
  readonly method: KeptMethod;
  /**
   * The protocol version and the capabilities in the `_meta` of the request, as JSON. Another client can
   * get another result.
   */
  readonly client: string;
  /** The page of a list. @default the first */
  readonly cursor?: string | undefined;
  /** As the server sent it. */
  readonly result: Record<string, unknown>;
  /** The arrival, in milliseconds since 1970-01-01 UTC. */
  readonly receivedAt: number;
  /** From then on the result answers no client. It is only compared with the next one. */
  readonly until: number;
  /** Who may see it. A slot is of one principal, so nothing is shared, whatever the server allows. */
  readonly scope: "public" | "private";
}

/** The saved form of a slot between steps: plain JSON. */
export type SessionSnapshot = ActiveSessionSnapshot | SessionlessSnapshot | StatelessSnapshot;

/** The snapshot of a session that was lost, or given up: the next one takes its place. */
export function lostSnapshot(url: string, lost: StandingRequests = {}): SessionlessSnapshot {
  return { version: 1, kind: "sessionless", url, lost };
}

/** Whether the session of a snapshot was lost, and no other has taken its place. */
export function isLost(snapshot: SessionSnapshot | undefined): boolean {
  return snapshot?.kind === "sessionless" && snapshot.lost !== undefined;
}

/** The result of the handshake that a snapshot goes on with. */
export function initializeResultOf(
  snapshot: SessionSnapshot | undefined,
): InitializeResult | undefined {
  return snapshot && "initializeResult" in snapshot ? snapshot.initializeResult : undefined;
}

/**
 * Tells a parsed snapshot from anything else. Its parts were checked when it was parsed.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`
 */
export function checkSnapshot(value: unknown): void {
  const { kind, url, sessionId } = isRecord(value) ? value : {};
  const isRight = typeof url === "string" && typeof kind === "string";
  if (isRight && (kind !== "session" || isSessionId(sessionId))) return;
  throw invalidOption("snapshot", "must come from parseSessionSnapshot");
}

/** The result of an `initialize`, if its revision has sessions. */
export function asInitializeResult(value: unknown): InitializeResult | undefined {
  return anyInitializeResult(value) ? undefined : (value as InitializeResult);
}

/**
 * Validates a snapshot from outside. Own keys named `__proto__`, more than 1,000,000 characters of JSON and more than
 * 64 levels are refused. Unknown fields of the snapshot stay, because a later release may know them.
 *
 * @returns a copy
 * @throws {McpSessionError} `STATE_INVALID`, naming the first wrong field and no value: `version` for a later release's
 *   format
 */
export function parseSessionSnapshot(value: unknown): SessionSnapshot {
  return readSessionSnapshot(ownJson(value));
}

/** Parses the snapshots in a stored value: without a copy, if nobody else has the value. */
export function snapshotParser(stored: unknown): typeof parseSessionSnapshot {
  return isOwned(stored) ? readSessionSnapshot : parseSessionSnapshot;
}

/** For JSON that nobody else has and that a store has bounded: it is checked, and not copied. */
function readSessionSnapshot(json: unknown): SessionSnapshot {
  checkNesting(json, 0);
  const wrong = anySnapshot(json);
  if (!wrong) return json as SessionSnapshot;
  if (isNewerFormat(json)) throw newerFormat("The session snapshot");
  throw stateInvalid(wrong.join(".") || "the snapshot");
}

/**
 * Whether a snapshot can be kept: it fits into the record of a store, and a later step can load it.
 * Otherwise the later step would lose the session.
 */
export function isKeepable(snapshot: SessionSnapshot): boolean {
  try {
    const { length } = JSON.stringify(snapshot);
    return length <= MAX_KEPT_LENGTH && readSessionSnapshot(snapshot) === snapshot;
  } catch {
    return false;
  }
}

/** A deep copy of `value` with its own, JSON-representable properties only. */
function ownJson(value: unknown): unknown {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (cause) {
    throw stateInvalid("the snapshot", cause);
  }
  if (text === undefined || text.length > maxValueLength) throw stateInvalid("the size");
  return JSON.parse(text);
}

function checkNesting(value: unknown, depth: number): void {
  if (typeof value !== "object" || value === null) return;
  if (depth >= MAX_DEPTH) throw stateInvalid("the depth");
  if (Object.hasOwn(value, "__proto__")) throw stateInvalid("__proto__");
  for (const key in value) checkNesting((value as Record<string, unknown>)[key], depth + 1);
}

function stateInvalid(field: string, cause?: unknown): McpSessionError {
  return new McpSessionError(
    "STATE_INVALID",
    `The session snapshot is not usable: ${field} is not as expected. Drop it and start a new session.`,
    { data: { field }, cause },
  );
}

/** The standing requests of a snapshot, and nothing else. */
export function standingRequests(snapshot: SessionSnapshot | undefined): StandingRequests {
  if (snapshot?.kind === "stateless") return {};
  const { subscriptions, logLevel } =
    (snapshot?.kind === "session" ? snapshot : snapshot?.lost) ?? {};
  return { ...(subscriptions && { subscriptions }), ...(logLevel && { logLevel }) };
}
