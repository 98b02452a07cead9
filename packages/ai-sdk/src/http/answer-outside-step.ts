import type { Principal } from "@durable-mcp/core";
import type { InputResponses, WaitingCall, WaitingEntry } from "@durable-mcp/core/waiting";
import { pausingInput } from "../connection/input-options.ts";
import { clientConnections, type Connections, findDeclared } from "../connection/mcp-connection.ts";
import { pendingSignIn, pendingSignIns } from "../connection/pending-sign-ins.ts";
import { createStoredCalls, loadWaiting, refuseAnswer } from "../connection/stored-calls.ts";
import type { WaitingSource } from "../connection/waiting-source.ts";
import type { ConnectionTelemetry } from "../events/connection-telemetry.ts";
import { createStepEvents, type Tell } from "../events/step-events.ts";
import { createHttpConnection } from "./http-connection.ts";

interface OutsideStep {
  readonly source: WaitingSource;
  readonly principal: Principal;
  readonly declared: Readonly<Connections>;
  readonly tell: Tell;
  readonly telemetry: ConnectionTelemetry | undefined;
  readonly now: () => number;
}

interface Use {
  readonly round?: number | undefined;
  readonly abortSignal?: AbortSignal | undefined;
}

/** The waiting calls of an agent session, for uses outside of a step. They open no session and list no tools. */
export function waitingOutsideStep({ source, principal, tell, ...parts }: OutsideStep) {
  const { now } = parts;
  const { sessionId } = source;
  // It is a step of its own for whoever follows the events.
  const { emit, countRequest, end } = createStepEvents(tell, sessionId);
  const declared = clientConnections(parts.declared);
  const stored = createStoredCalls({
    ...{ source, principal, now },
    limitsOf: (name) => pausingInput(findDeclared(declared, name)?.options ?? {}),
    emit: (connection, event) => emit({ ...event, connection }),
  });
  /** A connection that is only used for its waiting calls. Connects nothing. */
  const connect = (connection: string, abortSignal = new AbortController().signal) => {
    const definition = findDeclared(declared, connection);
    if (definition === undefined) return undefined;
    return createHttpConnection({
      ...{ ...parts, emit, countRequest },
      ...{ definition, sessionId, waiting: source },
      ...{ context: { principal, connection, abortSignal }, sessionName: undefined, keptAs: {} },
      isActive: () => true,
    });
  };
  return {
    async list(): Promise<WaitingEntry[]> {
      const signIns = pendingSignIns(declared, principal, sessionId);
      const [pending, calls] = await Promise.all([signIns, stored.list()]);
      return [...pending, ...calls];
    },
    withdraw: async (id: string) => await stored.withdraw(id).finally(end),
    async answer(
      id: string,
      responses: InputResponses,
      { round, abortSignal }: Use,
    ): Promise<WaitingCall> {
      const { describeWaiting, notPausing, notWaiting } = await loadWaiting();
      const found = await stored.read(id);
      if (found === undefined) throw notWaiting(undefined);
      const { connection } = found.call;
      const definition = findDeclared(declared, connection);
      const pending = async () =>
        definition && (await pendingSignIn(definition, { connection, principal, sessionId }));
      await refuseAnswer(found.call, pending);
      const { pausing } = connect(connection, abortSignal) ?? {};
      if (pausing === undefined) throw notPausing(found.call);
      const use = { round, signal: abortSignal };
      return describeWaiting(await pausing.answer(found.call, responses, use).finally(end));
    },
  };
}
