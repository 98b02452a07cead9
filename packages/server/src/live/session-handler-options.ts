import type { Principal, SessionStore } from "@durable-mcp/core";
import type { AuthInfo } from "@modelcontextprotocol/sdk/server/auth/types.js";
import type { ClientCapabilities, Implementation } from "@modelcontextprotocol/sdk/types.js";
import type { AnswerKind, CreateServer } from "./server-session.ts";
import type { ServerSessionEvent } from "../base/server-event.ts";
import type { OnStateConflict } from "../state/shared-state.ts";

/** What is known of a client when its requests' form of answer is chosen. */
export interface AnsweredClient {
  /** As the client calls itself: unverified. */
  readonly clientInfo: Implementation | undefined;
  readonly clientCapabilities: ClientCapabilities;
  /** What the client asked for. */
  readonly protocolVersion: string;
}

export interface SessionLimits {
  /** Bytes of a request's body; more gets 413. @default 4194304 */
  readonly bodyBytes?: number | undefined;
  /** Bytes of a session's state as JSON. @default 1048576 */
  readonly stateBytes?: number | undefined;
  /**
   * Sessions with a server in this process. The least recently used leaves memory, not the store;
   * when none is idle a further one gets 503. @default 10000
   */
  readonly liveSessions?: number | undefined;
  /** Requests of one session at once, in this process; a further one gets 429. @default 100 */
  readonly requestsPerSession?: number | undefined;
  /** Listening and resumed streams (GET) of one session, in this process; then 429. @default 8 */
  readonly streamsPerSession?: number | undefined;
}

/** What is kept of answer streams, for clients that come back with `Last-Event-ID`. */
export interface EventBounds {
  /** Messages of one stream. @default 100 */
  readonly maxEvents?: number | undefined;
  /** JSON characters of one stream's messages. A longer answer can't be resumed. @default 1048576 */
  readonly maxLength?: number | undefined;
  /** Milliseconds. @default 300000 (5 minutes) */
  readonly maxAgeMs?: number | undefined;
  /** Answered requests of one session that one process keeps. @default 16 */
  readonly maxAnswers?: number | undefined;
}

export interface SessionHandlerOptions<State extends object = Record<string, unknown>> {
  /** Builds the server of one session: when it starts, and again wherever it is restored. */
  readonly createServer: CreateServer<State>;
  /** Where sessions are kept. @default the memory of this process, which a restart loses */
  readonly store?: SessionStore | undefined;
  /**
   * Who sends a request, from what it proves (a verified token); `undefined` for nobody, which gets
   * 401, or the answer to give instead. `"none"` says that there is nobody to tell apart: whoever
   * has a session's id has the session.
   */
  readonly principal:
    | "none"
    | ((
        request: Request,
      ) => Principal | Response | undefined | Promise<Principal | Response | undefined>);
  /** What handlers find as `extra.authInfo`. */
  readonly authInfo?:
    | ((request: Request) => AuthInfo | undefined | Promise<AuthInfo | undefined>)
    | undefined;
  /** Tells handlers that share a store apart. @default "default" */
  readonly name?: string | undefined;
  /** The state of a new session. @default an empty object */
  readonly initialState?: (() => State) | undefined;
  /** Merges what two calls made of the state at once. @default the later call fails */
  readonly onStateConflict?: OnStateConflict<State> | undefined;
  /**
   * `"json"` for clients that do not resume broken streams: they see their connection fail, and do
   * not wait for an answer that died with a process. What a server sends before its answer goes to
   * the listening stream then. @default "sse"
   */
  readonly answers?: AnswerKind | ((client: AnsweredClient) => AnswerKind) | undefined;
  /** What a request with an unknown id gets: 404, or a session of its own. @default "reject" */
  readonly unknownSession?: "reject" | "adopt" | undefined;
  /** What adopted clients are taken to be capable of. @default nothing */
  readonly adoptedCapabilities?: ClientCapabilities | undefined;
  /** Serves the revisions without sessions (2026-07-28 and later), on the same URL. */
  readonly stateless?: ((request: Request) => Response | Promise<Response>) | undefined;
  /**
   * Names (without port) or hosts (with port) that the server answers to; `"any"` to leave the
   * check to what is in front of it. @default localhost, 127.0.0.1 and [::1]
   */
  readonly allowedHosts?: readonly string[] | "any" | undefined;
  /** Names or origins of pages that may send requests. @default as `allowedHosts` */
  readonly allowedOrigins?: readonly string[] | "any" | undefined;
  readonly limits?: SessionLimits | undefined;
  readonly events?: EventBounds | undefined;
  /** A session ends after this long without a request, in milliseconds. @default 1800000 */
  readonly idleTimeoutMs?: number | undefined;
  /** A session ends this long after its start, in milliseconds. @default 604800000 (7 days) */
  readonly absoluteTimeoutMs?: number | undefined;
  /** How long a process counts as alive after its last sign, in milliseconds. @default 10000 */
  readonly leaseMs?: number | undefined;
  /** How soon streams see what another process stored, in milliseconds. @default 500 */
  readonly pollIntervalMs?: number | undefined;
  /** Comments on quiet streams, in milliseconds. @default 15000 */
  readonly keepAliveMs?: number | undefined;
  /** When clients should come back to a broken stream, in milliseconds. @default 1000 */
  readonly retryMs?: number | undefined;
  readonly onEvent?: ((event: ServerSessionEvent) => void) | undefined;
  /** The clock, in milliseconds since 1970-01-01 UTC. @default Date.now */
  readonly now?: (() => number) | undefined;
}

const days = 24 * 60 * 60 * 1000;

/** The options with their defaults. */
export function withDefaults<State extends object>(options: SessionHandlerOptions<State>) {
  const { limits = {}, events = {} } = options;
  return {
    name: options.name ?? "default",
    now: options.now ?? Date.now,
    lifetime: {
      idleTimeoutMs: options.idleTimeoutMs ?? 30 * 60 * 1000,
      absoluteTimeoutMs: options.absoluteTimeoutMs ?? 7 * days,
    },
    leaseMs: options.leaseMs ?? 10_000,
    pollIntervalMs: options.pollIntervalMs ?? 500,
    keepAliveMs: options.keepAliveMs ?? 15_000,
    retryMs: options.retryMs ?? 1_000,
    limits: {
      bodyBytes: limits.bodyBytes ?? 4 * 1024 * 1024,
      stateBytes: limits.stateBytes ?? 1024 * 1024,
      liveSessions: limits.liveSessions ?? 10_000,
      requestsPerSession: limits.requestsPerSession ?? 100,
      streamsPerSession: limits.streamsPerSession ?? 8,
    },
    bounds: {
      maxEvents: events.maxEvents ?? 100,
      maxLength: events.maxLength ?? 1024 * 1024,
    },
    eventMaxAgeMs: events.maxAgeMs ?? 5 * 60 * 1000,
    keptAnswers: events.maxAnswers ?? 16,
    maxOpenMs: days,
  };
}

export type SessionHandlerSettings = ReturnType<typeof withDefaults>;
