import type { Principal } from "@durable-mcp/core";
import type { AskServer } from "@durable-mcp/core/waiting/internal";
import { endpointOf } from "../declare/define-connection.ts";
import { clientConnections, type Connections, findDeclared } from "../declare/mcp-connection.ts";
import type { ConnectionTelemetry } from "../events/connection-telemetry.ts";
import { createStepEvents, type Tell } from "../events/step-events.ts";
import { pendingSignIn } from "../waiting/sign-in.ts";
import { createWaitingUses, type WaitingUses } from "../waiting/run-waiting.ts";
import type { WaitingSource } from "../waiting/waiting-source.ts";
import { createHttpParts } from "./http-parts.ts";
import { createPausingCalls } from "./pausing-calls.ts";

interface OutsideStep {
  readonly source: WaitingSource;
  readonly principal: Principal;
  readonly declared: Readonly<Connections>;
  readonly tell: Tell;
  readonly telemetry: ConnectionTelemetry | undefined;
  readonly now: () => number;
  /** Asks the server of a connection on the chat's session. @default nobody can */
  readonly ask?:
    | ((connection: string, ...asked: Parameters<AskServer>) => ReturnType<AskServer>)
    | undefined;
  /** Ends an answer. */
  readonly abortSignal?: AbortSignal | undefined;
}

/** The waiting calls of an agent session, for uses outside of a step. They open no session and list no tools. */
export function waitingOutsideStep({
  source,
  principal,
  tell,
  ask,
  ...parts
}: OutsideStep): WaitingUses {
  const { abortSignal = new AbortController().signal, ...common } = parts;
  const { sessionId } = source;
  // It is a step of its own for whoever follows the events.
  const { emit, countRequest, end } = createStepEvents(tell, sessionId);
  const declared = clientConnections(parts.declared);
  const uses = createWaitingUses({
    ...{ source, principal, declared: parts.declared, now: parts.now },
    emit: (connection, event) => emit({ ...event, connection }),
    find(connection) {
      const definition = findDeclared(declared, connection);
      if (definition === undefined) return undefined;
      const server = createHttpParts({
        ...{ ...common, emit, countRequest, definition, sessionId, waiting: source },
        ...{ context: { principal, connection, abortSignal }, sessionName: undefined, keptAs: {} },
        isActive: () => true,
      });
      const pending = async () =>
        await pendingSignIn(definition, { connection, principal, sessionId });
      return {
        pausing: createPausingCalls(server, ask && ((...asked) => ask(connection, ...asked))),
        signIn: { url: endpointOf(definition), pending },
      };
    },
  });
  return {
    list: uses.list,
    answer: async (...answer) => await uses.answer(...answer).finally(end),
    checkOne: async (...check) => await uses.checkOne(...check).finally(end),
    cancel: async (call) => await uses.cancel(call).finally(end),
    check: async (...check) => await uses.check(...check).finally(end),
    withdraw: async (id) => await uses.withdraw(id).finally(end),
  };
}
