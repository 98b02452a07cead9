import { invalidOption } from "@durable-mcp/core/internal";
import type { Principal } from "@durable-mcp/core";
import {
  checkOwnOptions,
  durableSessionsFields,
  optionalOptions,
  type StoredSessionsOptions,
} from "@durable-mcp/sessions/internal";
import type {
  Connections,
  DurableSessionsOptions,
  ConnectionProviderOptions,
} from "@durable-mcp/sessions";
import { createDurableSessions, type DurableSessions } from "../face/durable-sessions.ts";
import { whileWaiting } from "../messages/stop-when-waiting.ts";

/** The agent session of a call, and the principal that the call acts for. */
export interface DurableAgentSession {
  /** Your id of the agent session, such as a chat. */
  readonly sessionId: string;
  /** From your sign-in, never from a client's request. */
  readonly principal: Principal;
  /** As of `sessions.open`. @default the agent's setting */
  readonly onUnavailable?: "omit" | "throw" | undefined;
  /** When this function is stopped, as of `sessions.open`. @default never */
  readonly endsAt?: Date | number | undefined;
}

/** The call options of a durable agent: its session, and the agent's own options. */
export type DurableAgentCallOptions<CALL_OPTIONS = never> = [CALL_OPTIONS] extends [never]
  ? DurableAgentSession
  : DurableAgentSession & CALL_OPTIONS;

/** Sessions that other code uses too, from `createDurableSessions`. */
type GivenSessions<CONNECTIONS extends Connections> = { sessions: DurableSessions<CONNECTIONS> } & {
  [OPTION in keyof OwnSessions<CONNECTIONS>]?: undefined;
};

/** Options of `createDurableSessions`, for sessions of the agent's own. */
type OwnSessions<CONNECTIONS extends Connections> = StoredSessionsOptions &
  Pick<ConnectionProviderOptions<CONNECTIONS>, "connections" | "pool" | "closeTimeoutMs">;

export type AgentSessions<CONNECTIONS extends Connections> =
  | GivenSessions<CONNECTIONS>
  | (OwnSessions<CONNECTIONS> & { sessions?: undefined });

/** The options of `open` of an agent. */
export const openSchema = optionalOptions({
  sessionId: "anything",
  principal: "anything",
  abortSignal: "abortSignal",
  onUnavailable: { oneOf: ["omit", "throw"] },
  endsAt: "date",
});

/** The part of a call's options that is for its session, and the agent's own. */
export function splitCallOptions<CALL_OPTIONS>(options: DurableAgentCallOptions<CALL_OPTIONS>) {
  if (options === undefined)
    throw invalidOption("options", "is missing: give { sessionId, principal }");
  const { sessionId, principal: whose, onUnavailable: without, endsAt: end, ...own } = options;
  const use = { principal: whose, onUnavailable: without, endsAt: end };
  return { session: { sessionId, ...use } as DurableAgentSession, own };
}

// `telemetry` is the loop agent's.
const { telemetry: _, ...sessionsFields } = durableSessionsFields;
/** The settings that are not the loop agent's, and those that it would drop in silence. */
const settingsSchema = optionalOptions({
  ...sessionsFields,
  ...{ sessions: "object", onUnavailable: { oneOf: ["omit", "throw"] }, whileWaiting },
  system: { refused: "is not a setting of an agent: give instructions" },
  maxSteps: { refused: "is not a setting of an agent: give stopWhen: stepCountIs(n)" },
  abortSignal: { refused: "is for one call: give it to generate or stream" },
});

/** Takes the sessions, or their options, out of an agent's settings. */
export function splitSessions<
  CONNECTIONS extends Connections,
  SETTINGS extends AgentSessions<CONNECTIONS>,
>(given: SETTINGS & { onUnavailable?: DurableAgentSession["onUnavailable"] }) {
  checkOwnOptions(settingsSchema, given);
  const {
    sessions,
    connections,
    store,
    pool,
    closeTimeoutMs,
    agent,
    share,
    touchIntervalMs,
    clockSkewMs,
    storeTimeoutMs,
    onEvent,
    now,
    onUnavailable: without,
    ...settings
  } = given;
  const stored = { store, agent, share, touchIntervalMs, clockSkewMs, storeTimeoutMs };
  const own = { ...stored, connections, pool, closeTimeoutMs, onEvent, now };
  const others = Object.entries(own).find(([, value]) => value !== undefined);
  if (sessions !== undefined && others !== undefined) {
    const fix = "cannot be combined with sessions: give it to createDurableSessions";
    throw invalidOption(others[0], fix);
  }
  return {
    sessions: sessions ?? createDurableSessions(own as DurableSessionsOptions<CONNECTIONS>),
    settings,
    onUnavailable: without,
  };
}
