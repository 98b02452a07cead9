import type { Principal } from "@durable-mcp/core";
import { checkOptions } from "../base/check-options.ts";
import type { McpClientConnection } from "../connection/define-connection.ts";
import { pausingInput } from "../connection/input-options.ts";
import { clientConnections, findDeclared } from "../connection/mcp-connection.ts";
import { createStoredCalls, loadWaiting } from "../connection/stored-calls.ts";
import { createHttpConnection } from "../http/http-connection.ts";
import { answerUseSchema, waitingUseSchema } from "./option-schemas.ts";
import type { SessionsContext } from "./sessions-context.ts";
import { checkSessionId, recordOwner } from "./slot-record.ts";
import type { WaitingSessions } from "./waiting-sessions.ts";

/** The uses of waiting calls outside of a step. They open no session and list no tools. */
export function createSessionsAnswers(context: SessionsContext): WaitingSessions {
  const open = (sessionId: string, principal: Principal) =>
    openCalls(context, sessionId, principal);
  return {
    async waiting(sessionId, use) {
      const { principal } = checkOptions(waitingUseSchema, use);
      return await open(sessionId, principal).calls.list();
    },
    async answer(sessionId, id, responses, use) {
      const { principal, round, abortSignal } = checkOptions(answerUseSchema, use);
      const opened = open(sessionId, principal);
      const { describeWaiting, notPausing, notWaiting } = await loadWaiting();
      const stored = await opened.calls.read(id);
      if (stored === undefined) throw notWaiting(undefined);
      const { pausing } = opened.connect(stored.call.connection, abortSignal) ?? {};
      if (pausing === undefined) throw notPausing(stored.call);
      return describeWaiting(await pausing.answer(id, responses, { round, signal: abortSignal }));
    },
    async withdraw(sessionId, id, use) {
      const { principal } = checkOptions(waitingUseSchema, use);
      return await open(sessionId, principal).calls.withdraw(id);
    },
  };
}

function openCalls(context: SessionsContext, sessionId: string, principal: Principal) {
  checkSessionId(sessionId);
  recordOwner(principal);
  context.work.throwIfShutDown();
  const { provider, store, agent, emit, now } = context;
  const declared = clientConnections(provider.declaredFor(principal));
  const source = { store, agent, sessionId };
  return {
    calls: createStoredCalls({
      ...{ source, principal, now },
      limitsOf: (name) => pausingInput(findDeclared(declared, name)?.options ?? {}),
      emit: (connection, event) => emit({ ...event, connection }),
    }),
    /** A connection that is only used for its waiting calls. Connects nothing. */
    connect(connection: string, abortSignal = new AbortController().signal) {
      const definition: McpClientConnection | undefined = findDeclared(declared, connection);
      const { telemetry, hungServers } = provider;
      return (
        definition &&
        createHttpConnection({
          ...{ definition, sessionId, now, telemetry, hungServers, waiting: source },
          ...{
            context: { principal, connection, abortSignal },
            sessionName: undefined,
            keptAs: {},
          },
          ...{ isActive: () => true, emit },
        })
      );
    },
  };
}
