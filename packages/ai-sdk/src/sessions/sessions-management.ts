import { checkOptions } from "../base/check-options.ts";
import { selectionInTimeSchema, selectionSchema } from "./provider-option-schemas.ts";
import type { DurableSessions } from "./durable-sessions.ts";
import { forgetGrants } from "./grant-records.ts";
import {
  checkDeclared,
  checkSelected,
  clearSelectedTools,
  endKept,
  endRecords,
  endSelected,
  recordsOf,
} from "./manage-sessions.ts";
import { endAllSchema, listSchema } from "./option-schemas.ts";
import type { SessionsContext } from "./sessions-context.ts";
import { describeRecord, recordOwner, recordPrefix } from "./slot-record.ts";
import { listAll, listRecords } from "./stored-records.ts";
import { deleteCalls } from "../waiting/waiting-records.ts";

/** The uses of a principal's stored sessions outside of a step. */
export function createSessionsManagement(
  context: SessionsContext,
): Pick<DurableSessions<any>, "list" | "status" | "restart" | "clearTools" | "end" | "endAll"> {
  const { provider, store, agent } = context;
  return {
    async list(query) {
      const { principal, sessionId, limit = 100, ...page } = checkOptions(listSchema, query);
      const owner = recordOwner(principal);
      const own =
        sessionId === undefined
          ? { prefix: recordPrefix(agent) }
          : recordsOf(context, sessionId, page.name);
      const found = await listRecords(store, { ...page, owner, limit, ...own });
      if (found.records.length === 0) {
        checkDeclared(provider.declaredFor(principal), page.connection);
      }
      return { sessions: found.records.map(describeRecord), cursor: found.cursor };
    },
    status: async (of, selection) =>
      await checkSelected(context, { of, ...checkOptions(selectionInTimeSchema, selection) }),
    restart: async (of, selection) => {
      const selected = { of, ...checkOptions(selectionInTimeSchema, selection) };
      return await endSelected(context, selected, "restart");
    },
    clearTools: async (of, selection) =>
      await clearSelectedTools(context, { of, ...checkOptions(selectionSchema, selection) }),
    end: async (of, selection) => {
      const selected = { of, ...checkOptions(selectionInTimeSchema, selection) };
      return await endSelected(context, selected, "end");
    },

    async endAll(query) {
      const { principal } = checkOptions(endAllSchema, query);
      const { records, waiting, grants } = await listAll(store, { owner: recordOwner(principal) });
      const [ended, processes] = await Promise.all([
        endRecords(context, records, { principal }, "delete"),
        endKept(context, [], { principal }, "end"),
        deleteCalls(context, waiting, principal),
      ]);
      // Not before: the end of a session on its server needs a token.
      await forgetGrants(context, grants, principal);
      return [...ended, ...processes];
    },
  };
}
