import { checkKnown } from "@durable-mcp/core/internal";

/** All times of a handler, in milliseconds. */
export interface SessionTimeouts {
  /** A session ends after this long without use. @default 1800000 (30 minutes) */
  readonly idleMs?: number | undefined;
  /** A session ends this long after its start. @default 604800000 (7 days) */
  readonly absoluteMs?: number | undefined;
  /**
   * A state that belongs to a principal or a handle ends after this long without use.
   * @default 2592000000 (30 days)
   */
  readonly stateIdleMs?: number | undefined;
  /** How long a process counts as alive after its last sign of life. @default 10000 */
  readonly leaseMs?: number | undefined;
  /**
   * How often a stream that was resumed looks for what another process has stored for it, and how long a
   * call runs before it looks for the first time. With a store that has no `subscribe`, how soon listening
   * streams and running calls notice a change by another process. @default 500
   */
  readonly pollIntervalMs?: number | undefined;
  /** How often a quiet stream carries a comment. `Bun.serve` ends a stream that is quiet for 10 seconds. @default 5000 */
  readonly keepAliveMs?: number | undefined;
  /**
   * How long clients wait before they come back to a broken stream. The official ones try twice, this long
   * apart, and then hang to their own time-out: so all replicas may be gone for twice this long. The second
   * try meets the end of a dead process's lease. @default half of `leaseMs`
   */
  readonly retryMs?: number | undefined;
  /** How long one operation of the store may take; then it fails with `STORE_FAILED`. @default 15000 */
  readonly storeMs?: number | undefined;
  /**
   * How long your code may take to build a server, to initialize it and to close it. After that the
   * request fails, and nobody waits for the close. @default 15000
   */
  readonly serverMs?: number | undefined;
  /**
   * The longest ttl of a task (revision 2025-11-25), from its creation, and the ttl of a task that asks for none.
   * @default 86400000 (1 day)
   */
  readonly taskMs?: number | undefined;
  /** How long a client can come back for an answer or a message. @default 300000 (5 minutes) */
  readonly resumeMs?: number | undefined;
  /**
   * How long a question of `inputRequired(…)` waits for the answer of a client with a session. Its call's messages
   * are kept as long, and its session, unless `absoluteMs` ends it. @default 604800000 (7 days)
   */
  readonly questionMs?: number | undefined;
}

/** Bounds on what clients send and keep. */
export interface SessionLimits {
  /** Bytes of a request's body; a larger one gets 413. @default 4194304 */
  readonly bodyBytes?: number | undefined;
  /** Bytes of a session's state as JSON, 800,000 at most: a store's record must have room for it. @default 786432 */
  readonly stateBytes?: number | undefined;
  /**
   * Sessions with a server in this process. To make room, the idle server that was used longest ago
   * is closed; its session stays in the store. When no server is idle, a request that needs another
   * one gets 503. As many requests of revision 2026-07-28, each with a server of its own, are served at
   * once; a further one gets 503. @default 10000
   */
  readonly liveSessions?: number | undefined;
  /** Messages in one POST, a batch of revision 2025-03-26; more get 413. @default 100 */
  readonly messagesPerPost?: number | undefined;
  /**
   * Messages of one session at once in this process: requests until their answer, others until they are
   * handed on. A POST with more gets 429. @default 100
   */
  readonly requestsPerSession?: number | undefined;
  /**
   * Requests of revision 2026-07-28 that one principal has at once in this process, listening streams
   * among them; a further one gets 429. Tasks at work are counted apart, against the same limit. Anonymous clients
   * are not counted. @default 100
   */
  readonly requestsPerPrincipal?: number | undefined;
  /**
   * Sessions of one principal; a further `initialize` gets 429. Clients that are not told apart
   * (anonymous) are not counted. Each process counts every 10 seconds at most, so several at once may let
   * through some more. @default 1000
   */
  readonly sessionsPerPrincipal?: number | undefined;
  /** Tasks of one session that run in this process; a further one is refused. @default 100 */
  readonly tasksPerSession?: number | undefined;
  /**
   * Tasks of one principal that are kept, finished ones until their time is over; a further call that would begin
   * one is refused. Counted as `sessionsPerPrincipal` is. @default 1000
   */
  readonly tasksPerPrincipal?: number | undefined;
  /** Streams (GET) of one session in this process; a further one gets 429. @default 8 */
  readonly streamsPerSession?: number | undefined;
}

/** How much of each stream is kept for clients that come back with `Last-Event-ID`. */
export interface EventBounds {
  /** Messages of one stream, 500 at most. @default 100 */
  readonly maxEvents?: number | undefined;
  /**
   * JSON characters of one stream's messages, 950,000 at most. A longer answer can't be resumed.
   * @default 917504
   */
  readonly maxLength?: number | undefined;
  /** Answered requests of one session that one process keeps; half as many more until it forgets them. @default 16 */
  readonly maxAnswers?: number | undefined;
}

interface SettingsOptions {
  readonly name?: string | undefined;
  readonly timeouts?: SessionTimeouts | undefined;
  readonly limits?: SessionLimits | undefined;
  readonly events?: EventBounds | undefined;
  readonly now?: (() => number) | undefined;
}

export type HandlerSettings = ReturnType<typeof withDefaults>;

const defaults = {
  timeouts: {
    idleMs: 30 * 60_000,
    absoluteMs: 7 * 24 * 60 * 60_000,
    stateIdleMs: 30 * 24 * 60 * 60_000,
    leaseMs: 10_000,
    pollIntervalMs: 500,
    keepAliveMs: 5_000,
    retryMs: undefined as number | undefined,
    storeMs: 15_000,
    serverMs: 15_000,
    resumeMs: 5 * 60_000,
    taskMs: 24 * 60 * 60_000,
    questionMs: 7 * 24 * 60 * 60_000,
  },
  limits: {
    bodyBytes: 4 * 1024 * 1024,
    stateBytes: 768 * 1024,
    liveSessions: 10_000,
    messagesPerPost: 100,
    sessionsPerPrincipal: 1_000,
    requestsPerPrincipal: 100,
    requestsPerSession: 100,
    streamsPerSession: 8,
    tasksPerSession: 100,
    tasksPerPrincipal: 1_000,
  },
  events: {
    maxEvents: 100,
    maxLength: 896 * 1024,
    maxAnswers: 16,
  },
};

/** Ages, which no timer has to take. */
const ages = new Set(["idleMs", "absoluteMs", "stateIdleMs", "resumeMs", "questionMs"]);

/** What a store's record, of 1,000,000 characters, has room for beside the other fields. */
const largest: Readonly<Record<string, number>> = {
  stateBytes: 800_000,
  maxLength: 950_000,
  maxEvents: 500,
};

/** What a record has beside a state or events, in bytes. */
const otherBytes = 20_000;

/** The settings on a store that takes so many bytes. A character of JSON has three at most. */
export function withinStore(settings: HandlerSettings, maxBytes = Infinity): HandlerSettings {
  const { limits, events } = settings;
  const room = Math.max(1, maxBytes - otherBytes);
  const maxLength = Math.min(events.maxLength, Math.ceil(room / 3));
  return {
    ...settings,
    limits: { ...limits, stateBytes: Math.min(limits.stateBytes, room) },
    events: { ...events, maxLength },
  };
}

/** @throws {McpSessionError} `CONNECTION_INVALID`, naming the setting */
export function withDefaults({ name = "default", now = Date.now, ...options }: SettingsOptions) {
  checkKnown({ name, now }, { name: "text", now: "function" });
  const timeouts = complete("timeouts", options.timeouts, (setting) =>
    ages.has(setting) ? [1] : "ms",
  );
  return {
    name,
    now,
    timeouts: { ...timeouts, retryMs: timeouts.retryMs ?? Math.ceil(timeouts.leaseMs / 2) },
    limits: complete("limits", options.limits, countKind),
    events: complete("events", options.events, countKind),
  };
}

const countKind = (setting: string) => [0, largest[setting]] as [number, number?];

/** A group of settings, with the defaults of those that were not given. */
function complete<GROUP extends keyof typeof defaults>(
  group: GROUP,
  given: object = {},
  kindOf: (setting: string) => "ms" | [number, number?],
): (typeof defaults)[GROUP] {
  const kinds = Object.keys(defaults[group]).map((setting) => [setting, kindOf(setting)]);
  checkKnown(given, Object.fromEntries(kinds) as object, { path: group });
  const set = Object.entries(given).filter(([, value]) => value !== undefined);
  return { ...defaults[group], ...Object.fromEntries(set) };
}
