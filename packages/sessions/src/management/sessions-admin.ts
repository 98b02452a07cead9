import { checkOptions } from "../base/check-options.ts";
import { inParallel } from "../base/in-parallel.ts";
import { endRecord, removeRecord } from "../records/end-record.ts";
import {
  describeRecord,
  type ListedRecord,
  parseRecordOwner,
  recordOwner,
  whoseRecord,
} from "../records/slot-record.ts";
import { deleteSeen, forgetToolList } from "../records/stored-records.ts";
import type {
  EndedSession,
  SelectionInTime,
  SessionListQuery,
  SessionPage,
  SessionSelection,
  SessionStatus,
  SharedId,
  StoredSession,
} from "../records/session-reports.ts";
import type { SlotName } from "../records/step-slot.ts";
import { deleteCalls } from "../waiting/waiting-records.ts";
import { endChat } from "./end-chat.ts";
import { listSchema, operatorSchema, sweepSchema } from "../sessions/outside-schemas.ts";
import {
  askRecord,
  type AuthorizeSession,
  authorizeRecord,
  findSelected,
  listSelected,
  type RecordUse,
  type SessionOwner,
} from "./selected-records.ts";
import { createDueCalls, type DueCalls } from "./due-calls.ts";
import { createOperatedCalls, type OperatedCalls } from "./operated-calls.ts";
import { tellOf } from "./open-waiting.ts";
import type { SessionsContext } from "../sessions/sessions-context.ts";
import { sweepSessions, type SweepOptions } from "./sweep-sessions.ts";

/** Selects sessions of an operator's agent, of all principals or of one. */
export type OperatorSelection = Partial<SelectionInTime> & {
  /** @default each session is used for its own principal, with its connection's own credentials */
  readonly authorize?: AuthorizeSession | undefined;
  /** The operator's name, for the events of what `end` does. Nobody checks it. @default none is told */
  readonly by?: string | undefined;
};

type Owned<RESULT> = RESULT & Pick<SessionOwner, "owner">;

/** Sees the sessions of all principals. Keep it away from code that serves users. */
export interface DurableSessionsAdmin extends DueCalls, OperatedCalls {
  /**
   * Describes stored sessions of this agent, as `list` of the sessions does. `waiting` has the chats in which only a
   * call waits.
   */
  list(
    query?: Partial<SessionSelection> & SessionListQuery,
  ): Promise<SessionPage<Owned<StoredSession> & Pick<SessionOwner, "principal">>>;
  /**
   * This and the next three do what the sessions' own do, to the records of all principals of an agent session or of
   * `{ shared: id }`. Stdio servers in a pool go on.
   *
   * A session without a principal (the store keeps a fingerprint, and `authorize` does not know it) is
   * `authorization-required` here; `restart` and `clearTools` leave it as it is, and `end` only removes its record.
   *
   * @throws {McpSessionError} `PRINCIPAL_REQUIRED` for a `principal` that is `undefined`, `CONNECTION_INVALID`,
   *   `STORE_FAILED`; the error of `authorize`
   */
  status(of: string | SharedId, selection?: OperatorSelection): Promise<Owned<SessionStatus>[]>;
  /** As of the sessions. */
  restart(of: string | SharedId, selection?: OperatorSelection): Promise<Owned<EndedSession>[]>;
  /** As of the sessions. @returns whether each was `cleared` */
  clearTools(
    of: string | SharedId,
    selection?: OperatorSelection,
  ): Promise<Owned<SlotName & { readonly cleared: boolean }>[]>;
  /** As of the sessions. */
  end(of: string | SharedId, selection?: OperatorSelection): Promise<Owned<EndedSession>[]>;
  /**
   * Removes sessions that nobody used for `idleForMs`; without it, named ones that nobody used for their own
   * `idleTimeoutMs`. Either time counts as at least `clockSkewMs` plus three times `touchIntervalMs`: 18 minutes by
   * default. At most one sweeper works on a session, and none on one in use. If `authorize` returns a
   * principal, the session is ended on its server first; if that fails, the record stays for one later sweep.
   * Otherwise only the record goes.
   *
   * It also deletes the calls, waiting or over, that nobody used for as long. A question that nobody answers is
   * not used: let `idleForMs` be longer than people may take.
   *
   * @returns one entry for each session that the sweep worked on, how many waiting calls it deleted, and
   *   whether there may be more
   * @throws {McpSessionError} `CONNECTION_INVALID`, `STORE_FAILED`; the error of `authorize`
   */
  sweep(options?: SweepOptions): Promise<{
    readonly sessions: readonly Owned<EndedSession>[];
    readonly waitingCalls: number;
    readonly more: boolean;
  }>;
}

export function createSessionsAdmin(context: SessionsContext): DurableSessionsAdmin {
  const { store } = context;
  /** The records of a selection, and what works on each. */
  const select = async (of: string | SharedId, selection: OperatorSelection = {}) => {
    const checked = checkOptions(operatorSchema, selection);
    const { authorize = asOwner, timeoutMs, by, ...selected } = checked;
    const found = await findSelected(context, of, selected, ownerOf(selected));
    const each = async <RESULT extends object>(
      work: (stored: ListedRecord, use: RecordUse | undefined) => Promise<RESULT | undefined>,
    ): Promise<Owned<RESULT>[]> => {
      const results = await inParallel(found.records, async (stored) => {
        const use = await authorizeRecord(context, stored, authorize);
        if (use === "changed") return [];
        const result = await work(stored, use && { ...use, timeoutMs });
        return result ? [{ ...result, owner: stored.owner }] : [];
      });
      return results.flat();
    };
    return { ...found, each, by };
  };

  return {
    async list(query = {}) {
      const selected = checkOptions(listSchema, query);
      const { records, cursor } = await listSelected(context, selected, ownerOf(selected));
      const sessions = records.map((record) => {
        const { owner } = record;
        return { ...describeRecord(record), owner, principal: parseRecordOwner(owner) };
      });
      return { sessions, cursor };
    },
    async status(of, selection) {
      const { each } = await select(of, selection);
      return await each((stored, use) => askRecord(context, stored, use));
    },
    async restart(of, selection) {
      const { each } = await select(of, selection);
      return await each((stored, use) => endIfUsable(context, stored, use, "restart"));
    },
    async clearTools(of, selection) {
      const { each } = await select(of, selection);
      return await each(async (stored, use) => {
        if (use !== undefined) await forgetToolList(store, stored.of, stored, use.principal);
        return { ...whoseRecord(stored.of), cleared: use !== undefined };
      });
    },
    async end(of, selection) {
      const { each, waiting, seen, by } = await select(of, selection);
      const tell = by === undefined ? context.tell : tellOf(context, by);
      const [results] = await Promise.all([
        each((stored, use) => endIfUsable(context, stored, use, "end")),
        deleteCalls({ store, tell }, waiting),
        deleteSeen(store, seen),
        endChat(context, of, selection ?? {}),
      ]);
      for (const { connection, name, shared, ended } of by === undefined ? [] : results)
        tell({ type: "ended-by-operator", connection, name, shared, by: by!, ended });
      return results;
    },
    ...createDueCalls(context),
    ...createOperatedCalls(context),
    sweep: async (options = {}) => await sweepSessions(context, checkOptions(sweepSchema, options)),
  };
}

/** Of a selection without a principal, all owners; not of one whose principal is missing. */
function ownerOf(selected: Pick<OperatorSelection, "principal">): string | undefined {
  return "principal" in selected ? recordOwner(selected.principal) : undefined;
}

const asOwner: AuthorizeSession = ({ principal }) => principal && { principal };

/**
 * Ends the sessions of a record. If nobody may use them, `restart` leaves it, and the others only remove it.
 *
 * @returns `undefined` if another process took care of the record
 */
async function endIfUsable(
  context: SessionsContext,
  stored: ListedRecord,
  use: RecordUse | undefined,
  mode: "restart" | "end",
): Promise<EndedSession | undefined> {
  if (use !== undefined) return await endRecord(context, stored.of, stored, { ...use, mode });
  if (mode !== "restart") return await removeRecord(context.store, stored);
  return { ...whoseRecord(stored.of), ended: false, removed: false };
}
