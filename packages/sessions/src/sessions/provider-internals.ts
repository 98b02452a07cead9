import type { Principal } from "@durable-mcp/core";
import { invalidOption, within } from "@durable-mcp/core/internal";
import { createOpenWork } from "../base/open-work.ts";
import type { Connections } from "../declare/mcp-connection.ts";
import { createTeller } from "../events/application-event.ts";
import type { OnEvent } from "../events/application-event.ts";
import { createStepEvents } from "../events/step-events.ts";
import { createProcessPool } from "../run/process-pool.ts";
import type { ConnectionRun } from "../run/connection-run.ts";
import { createStepRun, type StepRunOptions } from "../run/step-run.ts";
import type { ToolFace } from "../run/tool-face.ts";
import type { Successor } from "../run/auto-session.ts";
import { noNamedSlots } from "../records/named-slots.ts";
import { checkConnections } from "./check-connections.ts";
import type { ConnectionProviderOptions } from "./connection-provider.ts";

export type ProviderInternals<CONNECTIONS extends Connections> = ReturnType<
  typeof createInternals<CONNECTIONS>
>;

/** The common parts of a provider, and of durable sessions on it. */
export function createInternals<CONNECTIONS extends Connections>(
  options: ConnectionProviderOptions<CONNECTIONS>,
  face: ToolFace | undefined,
) {
  const { connections, onEvent, telemetry, now = Date.now } = options;
  const { closeTimeoutMs = 10_000 } = options;
  if (typeof connections !== "function") checkConnections(connections);
  const work = createOpenWork("The connection provider was");
  const { track, throwIfShutDown } = work;
  const emit = createTeller(telemetry, onEvent);
  const pool = options.pool && createProcessPool(options.pool, emit, now);
  const declaredFor = (principal: Principal | undefined): CONNECTIONS => {
    const declared = typeof connections === "function" ? connections(principal) : connections;
    checkConnections(declared);
    return declared;
  };
  const createRun = (step: StepRunOptions & { declared: CONNECTIONS }) => {
    throwIfShutDown();
    const factory = { declaredFor, telemetry, now, track, closeTimeoutMs, face };
    const run = createStepRun(factory, step);
    return run as ConnectionRun<any> as ConnectionRun<CONNECTIONS>;
  };
  let namespaces = 0;
  return {
    /** @throws {McpSessionError} `CONNECTION_INVALID` */
    declaredFor,
    createRun,
    /** Allows the legs of waiting calls in a state. */
    claim: options.claim,
    face,
    closeTimeoutMs,
    /**
     * A run without an agent session: nothing of it is kept.
     *
     * @param successor of a run that its owner disposes of
     */
    createUnkept: (principal: Principal | undefined, successor?: Successor) =>
      createRun({
        declared: declaredFor(principal),
        principal,
        // There is nothing that could keep a session.
        events: createStepEvents(
          (event, step) => event.type !== "session-unused" && emit(event, step),
          undefined,
        ),
        abortSignal: undefined,
        named: noNamedSlots,
        hasOwner: successor !== undefined,
        successor,
      }) as ConnectionRun<any>,
    pool,
    /** The pool for the runs of one agent session, named by these parts; `undefined` without a pool. */
    poolFor: (scope: readonly unknown[]) => pool?.of(scope),
    /** A part of a scope that separates a store's sessions from those elsewhere. */
    createNamespace: () => (namespaces += 1),
    work,
    /** Closes all runs and processes, in `timeoutMs` milliseconds at most. */
    async shutDown(timeoutMs: number): Promise<void> {
      const closings = work.shutDown();
      const closeAll = async () => {
        // Idle processes end at once, even if something else hangs. The runs give theirs back.
        await Promise.allSettled([closings, pool?.closeAll()]);
        await pool?.closeAll();
      };
      await within(timeoutMs, closeAll());
    },
    emit,
    telemetry,
    /** An `emit` that tells `onEvent` instead of the provider's own. */
    emitTo: (observe: OnEvent) => createTeller(telemetry, observe),
    now,
  };
}

/** By provider. */
export const allInternals = new WeakMap<object, ProviderInternals<any>>();

/** @throws {McpSessionError} `CONNECTION_INVALID` for what is no provider */
export function internalsOf<CONNECTIONS extends Connections>(
  provider: unknown,
): ProviderInternals<CONNECTIONS> {
  const found = allInternals.get(provider as object);
  if (found !== undefined) return found;
  const fix = "must come from createConnectionProvider, and of this copy of @durable-mcp/sessions";
  throw invalidOption("provider", fix);
}
