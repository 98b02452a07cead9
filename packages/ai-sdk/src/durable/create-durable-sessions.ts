import { within } from "@durable-mcp/core/internal";
import { createSessionsAnswers } from "./answer-sessions.ts";
import { checkOptions } from "../base/check-options.ts";
import type { Connections } from "../connection/mcp-connection.ts";
import type { DurableSessions, DurableSessionsOptions } from "./durable-sessions.ts";
import { createSessionsManagement } from "./manage-sessions.ts";
import { durableSessionsSchema, useSchema } from "./option-schemas.ts";
import { shutdownSchema } from "../provider/option-schemas.ts";
import { openSession, runOnLease } from "./open-session.ts";
import { createSessionsAdmin } from "./sessions-admin.ts";
import { createSessionsContext } from "./sessions-context.ts";
import { startStoredAutoSession } from "./stored-auto-session.ts";

/**
 * Creates the sessions of an agent, kept in a store. Call it once, at start.
 *
 * @example
 * const sessions = createDurableSessions({ connections, store });
 * await sessions.run(chatId, { principal }, ({ tools }) =>
 *   generateText({ model, tools, prompt, stopWhen: stepCountIs(10) }));
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`
 */
export function createDurableSessions<CONNECTIONS extends Connections>(
  options: DurableSessionsOptions<CONNECTIONS>,
): DurableSessions<CONNECTIONS> {
  const context = createSessionsContext(checkOptions(durableSessionsSchema, options));
  const { ownProvider, work } = context;
  const { autoSession } = options;
  const management = createSessionsManagement(context);

  return {
    open: async (sessionId, use) =>
      await openSession(context, sessionId, checkOptions(useSchema, use)),
    async run(sessionId, use, step) {
      const lease = await openSession(context, sessionId, checkOptions(useSchema, use));
      return await runOnLease(lease, use.abortSignal, step);
    },
    ...createSessionsAnswers(context),
    ...(autoSession ? startStoredAutoSession(context, autoSession, management) : management),
    async shutdown(shutdown = {}) {
      const { timeoutMs = 10_000 } = checkOptions(shutdownSchema, shutdown);
      const closings = work.shutDown();
      await (ownProvider?.shutdown({ timeoutMs }) ?? within(timeoutMs, closings));
    },
    admin: createSessionsAdmin(context),
  };
}
