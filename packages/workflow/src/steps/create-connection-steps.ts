import { type SealingKeys, type UnsealStateReason } from "@durable-mcp/core/sealing";
import {
  type ApplicationEvent,
  type ConnectionEvent,
  McpSessionError,
} from "@durable-mcp/sessions";
import {
  checkConnections,
  checkOptions,
  emitUnavailable,
  mayWait,
  optionalOptions,
  pendingSignIns,
  createTeller,
} from "@durable-mcp/sessions/internal";
import type { SessionStore } from "@durable-mcp/core";
import { guarded } from "@durable-mcp/core/internal";
import { getStepMetadata } from "workflow";
import type {
  CallRequest,
  CallResult,
  ConnectionStepFunctions,
  SessionsRequest,
  SessionsResult,
} from "../step-protocol.ts";
import { callInStep } from "./call-step.ts";
import { type DeclaredConnections, findConnection } from "./declared-connections.ts";
import { failed, interrupted, notSent } from "./failed-call.ts";
import { openAll, withOwnNames } from "./open-all.ts";
import { plainError, plainly } from "./plain-error.ts";
import { createSaidThroughHook } from "./person-said.ts";
import { createRunQuestions, type RunQuestions } from "./run-questions.ts";
import { createSealedSessions } from "./sealed-sessions.ts";
import type { StepConnection, StepSessions } from "./step-sessions.ts";
import { createStoredSessions } from "./stored-sessions.ts";
import { goOnInStep } from "./waiting-step.ts";

/** A slot from the event log was not used, and a fresh session takes its place. */
export interface SlotRefusedEvent {
  readonly type: "slot-refused";
  readonly connection: string;
  readonly reason: UnsealStateReason;
}

/** An event in a step. No event holds a session id, a token or a principal. */
export type StepEvent = ApplicationEvent | SlotRefusedEvent;

/** Options of `createConnectionSteps`. */
export interface ConnectionStepsOptions {
  /** The declared servers by name, or a function of the principal that returns them. HTTP only. */
  readonly connections: DeclaredConnections;
  /** Seal the sessions in the event log, calls that wait, and a person's answers. Required without `store`. */
  readonly keys?: SealingKeys | undefined;
  /**
   * A sealed slot expires after this time, in milliseconds, from the step that opened the session. A run
   * that sleeps longer gets a fresh session. @default 31536000000 (365 days)
   */
  readonly expiresInMs?: number | undefined;
  /** Keeps the sessions; the event log then has nothing of them. @default none */
  readonly store?: SessionStore | undefined;
  /** With `store`: the agent that owns the sessions, as in `createDurableSessions`. @default "default" */
  readonly agent?: string | undefined;
  /** Gets the events of connections, sessions and slots. @default warns on the console as a provider does */
  readonly onEvent?:
    | ((event: StepEvent) => void)
    | {
        /** Gets all events, not only those that an application acts on. */
        readonly every: (event: ConnectionEvent | SlotRefusedEvent) => void;
      }
    | undefined;
  /** The clock, in milliseconds since 1970-01-01 UTC. @default Date.now */
  readonly now?: (() => number) | undefined;
}

/** For an application's step functions, and for its API routes that answer the questions of runs. */
export interface ConnectionSteps extends ConnectionStepFunctions, RunQuestions {}

const optionsSchema = optionalOptions({
  ...{ connections: "anything", keys: "object", store: "store", agent: "text" },
  ...{ onEvent: "observer", now: "function" },
  expiresInMs: "age",
});

const toFind = { kind: "find" } as const;
const defaultExpiresInMs = 365 * 24 * 3_600_000;

/**
 * Creates the functions that an application's step functions call. Call it once, in a module that only
 * steps import, because that module holds the definitions and the keys.
 *
 * @example
 * export const steps = createConnectionSteps({ connections: { cart }, keys: { current: key } });
 *
 * // In a module of its own, because a step's id depends on its file:
 * export async function mcpSessions(request: SessionsRequest) {
 *   "use step";
 *   return await steps.sessions(request);
 * }
 * export async function mcpCall(request: CallRequest) {
 *   "use step";
 *   return await steps.call(request);
 * }
 * mcpCall.maxRetries = 0;
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the option
 */
export function createConnectionSteps(options: ConnectionStepsOptions): ConnectionSteps {
  const checked = checkOptions(optionsSchema, options);
  const { connections, keys, expiresInMs = defaultExpiresInMs, onEvent, now = Date.now } = checked;
  const tell = createTeller(undefined, onEvent);
  const tellOfSlots = guarded((event: SlotRefusedEvent) =>
    typeof onEvent === "object" ? onEvent.every(event) : onEvent?.(event),
  );
  const emit = (event: ConnectionEvent | SlotRefusedEvent) =>
    event.type === "slot-refused" ? tellOfSlots(event) : tell(event);
  if (typeof connections !== "function") checkConnections(connections);
  const sessions = createSessions(checked, { expiresInMs, emit, now });
  const said = createSaidThroughHook(keys, expiresInMs, now);

  const stepOf = (
    connection: string,
    { principal, sessionId }: Pick<CallRequest, "principal" | "sessionId">,
    slot: string | undefined,
  ): StepConnection => ({
    ...{ connection, principal, sessionId, slot },
    definition: findConnection(connections, connection, principal),
  });

  return {
    ...createRunQuestions(said, ({ principal, sessionId }) => {
      const declared = typeof connections === "function" ? connections(principal) : connections;
      return pendingSignIns(declared, principal, sessionId);
    }),
    async sessions(request: SessionsRequest): Promise<SessionsResult> {
      const { kind, onUnavailable, slots } = request;
      const steps = request.connections.map((name) => {
        try {
          return stepOf(name, request, Object.hasOwn(slots, name) ? slots[name] : undefined);
        } catch (error) {
          throw plainError(error);
        }
      });
      if (kind === "end") {
        await Promise.all(steps.map(async (step) => await plainly(() => sessions.end(step))));
        return {};
      }
      const finish = (opened: SessionsResult) => withOwnNames(opened, { onUnavailable, emit });
      return await openAll(
        sessions,
        steps,
        onUnavailable,
        finish,
        ({ connection, definition }, thrown) => {
          const error = plainError(thrown);
          const isRequired = definition.options.required === true || onUnavailable === "throw";
          if (isRequired || !isUnavailable(error)) throw error;
          // The events tell of what fails in it.
          emitUnavailable(emit, connection, error, thrown);
        },
      );
    },

    async call(request: CallRequest): Promise<CallResult> {
      const { connection, tool, mayRunTwice, slot } = request;
      // An earlier attempt was cut off, and may have reached the server.
      const isCutOff = getStepMetadata().attempt > 1 && !mayRunTwice;
      let step: StepConnection;
      try {
        step = stepOf(connection, request, slot);
      } catch (error) {
        return isCutOff ? failed(interrupted(connection, tool)) : notSent(error);
      }
      const isKept = sessions.keepsCalls && mayWait(step.definition);
      if (isCutOff && !isKept) return failed(interrupted(connection, tool));
      const { waiting = isCutOff ? toFind : undefined } = request;
      return await plainly(() =>
        waiting === undefined
          ? callInStep(sessions, step, request)
          : goOnInStep(sessions, step, { ...request, waiting }, { said, now }),
      );
    },
  };
}

/** Sessions in the store, if there is one, or sealed in the event log. */
function createSessions(
  { store, agent, keys }: ConnectionStepsOptions,
  parts: {
    expiresInMs: number;
    emit: (event: ConnectionEvent | SlotRefusedEvent) => void;
    now: () => number;
  },
): StepSessions {
  const { expiresInMs, emit, now } = parts;
  if (store !== undefined) return createStoredSessions({ store, agent, emit, now });
  return createSealedSessions({
    ...{ keys: requireKeys(keys), expiresInMs, emit, now },
    emitRefused: (connection, reason) => emit({ type: "slot-refused", connection, reason }),
  });
}

function requireKeys(keys: SealingKeys | undefined): SealingKeys {
  if (keys !== undefined) return keys;
  throw new McpSessionError(
    "CONNECTION_INVALID",
    "keys is missing. Pass keys to seal the sessions in the event log, or a store that keeps them.",
    { data: { field: "keys" } },
  );
}

/** Whether the server or the network is at fault. The other connections then go on. */
function isUnavailable(error: unknown): error is McpSessionError {
  return McpSessionError.isInstance(error) && error.code !== "STORE_FAILED";
}
