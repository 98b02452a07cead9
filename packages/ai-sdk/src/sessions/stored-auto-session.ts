import { startAutoSession } from "../run/auto-session.ts";
import type { StoredAutoSessionOptions } from "../run/run-options.ts";
import type { DurableSessions, SharedId } from "./durable-sessions.ts";
import { beginRun } from "./open-session.ts";
import type { SessionsContext } from "./sessions-context.ts";
import { checkSessionId } from "../records/slot-record.ts";

/** What changes sessions outside of a step. */
type Management = Pick<DurableSessions<any>, "restart" | "clearTools" | "end" | "endAll">;

/**
 * Makes the implicit run of a script on an agent session in the store.
 *
 * @returns a management that closes the run before it changes its sessions; the next use opens
 *   another
 * @throws {McpSessionError} as `startAutoSession`
 */
export function startStoredAutoSession<MANAGEMENT extends Management>(
  context: SessionsContext,
  options: StoredAutoSessionOptions,
  management: MANAGEMENT,
): MANAGEMENT {
  const { provider, tell, work } = context;
  const { sessionId, principal } = options;
  checkSessionId(sessionId);
  const implicit = startAutoSession(options, {
    declared: () => provider.declaredFor(principal),
    async open(successor) {
      const { run, close } = await beginRun(context, sessionId, { principal }, successor);
      return { run, close };
    },
    emit: tell,
    tracks: [provider.work.track, work.track],
  });
  const whileClosed =
    <REST extends unknown[], RESULT>(
      change: (of: string | SharedId, ...rest: REST) => Promise<RESULT>,
    ) =>
    async (of: string | SharedId, ...rest: REST) => {
      // It may use any of the shared ones.
      if (of === sessionId || typeof of !== "string") await implicit.dispose();
      return await change(of, ...rest);
    };
  return {
    ...management,
    restart: whileClosed(management.restart),
    clearTools: whileClosed(management.clearTools),
    end: whileClosed(management.end),
    async endAll(query) {
      await implicit.dispose();
      return await management.endAll(query);
    },
  };
}
