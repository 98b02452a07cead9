import { type SealingKeys, type UnsealStateReason } from "@durable-mcp/core/sealing";
import { type ConnectionEvent, McpSessionError, type Principal } from "@durable-mcp/ai-sdk";
import {
  anything,
  checkConnections,
  checkOptions,
  isTold,
  optionalOptions,
  someFunction,
  someObject,
  someStore,
  text,
  warnOnConsole,
  wholeNumber,
  withoutCollisions,
} from "@durable-mcp/ai-sdk/internal";
import type { SessionStore } from "@durable-mcp/core";
import { guarded } from "@durable-mcp/core/internal";
import { getStepMetadata } from "workflow";
import type {
  CallRequest,
  CallResult,
  ConnectionStepFunctions,
  OpenedConnection,
  SessionsRequest,
  SessionsResult,
} from "../step-protocol.ts";
import { callInStep, notSent } from "./call-step.ts";
import { type DeclaredConnections, findConnection } from "./declared-connections.ts";
import { openInStep } from "./open-step.ts";
import { plainError, plainly } from "./plain-error.ts";
import { createSealedSessions } from "./sealed-sessions.ts";
import type { StepConnection, StepSessions } from "./step-sessions.ts";
import { createStoredSessions } from "./stored-sessions.ts";

/** A slot from the event log was not used, and a fresh session takes its place. */
export interface SlotRefusedEvent {
  readonly type: "slot-refused";
  readonly connection: string;
  readonly reason: UnsealStateReason;
}

/** An event in a step. No event holds a session id, a token or a principal. */
export type StepEvent = ConnectionEvent | SlotRefusedEvent;

export interface ConnectionStepsOptions {
  /** The declared servers by name, or a function of the principal that returns them. HTTP only. */
  readonly connections: DeclaredConnections;
  /** Seal the sessions in the event log. Required without `store`. */
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
  readonly onEvent?: ((event: StepEvent) => void) | undefined;
  /** The clock, in milliseconds since 1970-01-01 UTC. @default Date.now */
  readonly now?: (() => number) | undefined;
}

const optionsSchema = optionalOptions({
  ...{ connections: anything, keys: someObject, store: someStore, agent: text },
  ...{ onEvent: someFunction, now: someFunction },
  expiresInMs: wholeNumber(1, Number.MAX_SAFE_INTEGER, "milliseconds"),
});

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
 * @throws {McpSessionError} `CONNECTION_INVALID`
 */
export function createConnectionSteps(options: ConnectionStepsOptions): ConnectionStepFunctions {
  const {
    connections,
    keys,
    expiresInMs = defaultExpiresInMs,
    store,
    agent,
    onEvent,
    now = Date.now,
  } = checkOptions(optionsSchema, options);
  const warn = warnOnConsole();
  const warnOfConnections = (event: StepEvent) => {
    if (event.type !== "slot-refused") warn(event);
  };
  if (typeof connections !== "function") checkConnections(connections);
  const emit = guarded(onEvent ?? warnOfConnections);
  const sessions =
    store !== undefined
      ? createStoredSessions({ store, agent, emit, now })
      : createSealedSessions({
          keys: requireKeys(keys),
          expiresInMs,
          emit,
          emitRefused: (connection, reason) => emit({ type: "slot-refused", connection, reason }),
          now,
        });

  const stepOf = (
    connection: string,
    { principal, sessionId }: { principal: Principal; sessionId?: string | undefined },
    slot: string | undefined,
  ): StepConnection => {
    const definition = findConnection(connections, connection, principal);
    return { connection, definition, principal, sessionId, slot };
  };

  return {
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
      return await openAll(sessions, steps, finish, (step, thrown) => {
        const error = plainError(thrown);
        const isRequired = step.definition.options.required === true;
        if (isRequired || onUnavailable === "throw" || !isUnavailable(error)) throw error;
        // The registry tells of what fails in it.
        if (!isTold(thrown)) emit({ type: "unavailable", connection: step.connection, error });
      });
    },

    async call(request: CallRequest): Promise<CallResult> {
      const { connection, tool, mayRunTwice, slot } = request;
      // An earlier attempt was cut off, and may have reached the server.
      if (getStepMetadata().attempt > 1 && !mayRunTwice) {
        const message = `Connection ${connection}: the step that called ${tool} was interrupted. Whether the call was carried out is unknown, so it was not made again; check first.`;
        return { ok: false, code: "OUTCOME_UNKNOWN", message, isLost: false, maySendAgain: false };
      }
      let step: StepConnection;
      try {
        step = stepOf(connection, request, slot);
      } catch (error) {
        return notSent(error);
      }
      return await plainly(() => callInStep(sessions, step, request));
    },
  };
}

/**
 * Opens the connections of a step, all at once.
 *
 * @param finish has the last word on what was opened; throws to fail the step
 * @param onFailure called for a connection that could not be opened; throws to fail the step
 */
async function openAll(
  sessions: StepSessions,
  steps: readonly StepConnection[],
  finish: (opened: SessionsResult) => SessionsResult,
  onFailure: (step: StepConnection, error: unknown) => void,
): Promise<SessionsResult> {
  const openings = steps.map(async (step) => {
    try {
      return [{ step, ...(await openInStep(sessions, step)) }];
    } catch (error) {
      onFailure(step, error);
      return [];
    }
  });
  const settled = await Promise.allSettled(openings);
  const done = settled.flatMap((opening) => (opening.status === "fulfilled" ? opening.value : []));
  let failure: unknown;
  try {
    const failed = settled.find((opening) => opening.status === "rejected");
    if (failed !== undefined) throw failed.reason;
    const byName = done.map(({ step, opened }) => [step.connection, opened] as const);
    return finish(Object.fromEntries<OpenedConnection>(byName));
  } catch (error) {
    failure = error;
  }
  // A failing step keeps nothing, and its next attempt makes sessions of its own. So end these.
  const unkept = done.filter(({ opened, isNew }) => isNew && opened.slot !== undefined);
  const endings = unkept.map(({ step, opened }) => sessions.end({ ...step, slot: opened.slot }));
  await Promise.allSettled(endings);
  throw failure;
}

/** The opened connections without tools of one name. @throws {FatalError} with `"throw"` */
function withOwnNames(
  opened: SessionsResult,
  options: Parameters<typeof withoutCollisions>[1],
): SessionsResult {
  const listed = Object.entries(opened).flatMap(([connection, { tools }]) =>
    tools.map((own) => ({ name: own.name, tool: own.tool, connection, own })),
  );
  let kept: typeof listed;
  try {
    kept = withoutCollisions(listed, options);
  } catch (error) {
    throw plainError(error);
  }
  if (kept.length === listed.length) return opened;
  const entries = Object.entries(opened).map(([connection, one]) => {
    const tools = kept.filter((each) => each.connection === connection).map(({ own }) => own);
    return [connection, { ...one, tools }] as const;
  });
  return Object.fromEntries(entries);
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
