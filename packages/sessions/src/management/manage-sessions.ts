import type { Principal } from "@durable-mcp/core";
import { oauthKeys } from "@durable-mcp/core/internal";
import { checkOptions } from "../base/check-options.ts";
import { inParallel } from "../base/in-parallel.ts";
import { clientConnections } from "../declare/mcp-connection.ts";
import type { EndMode } from "../records/kept-session.ts";
import type {
  EndedSession,
  SelectionInTime,
  SessionSelection,
  SharedId,
} from "../records/session-reports.ts";
import type { SlotName } from "../records/step-slot.ts";
import type { DurableSessions } from "./durable-sessions.ts";
import { chatRecordsOwner, deleteChats } from "../records/chat-records.ts";
import { endRecord } from "../records/end-record.ts";
import {
  deleteSeen,
  forgetToolList,
  listAll,
  type ListedGrant,
} from "../records/stored-records.ts";
import { describeRecord, type ListedRecord, recordOwner } from "../records/slot-record.ts";
import {
  listSchema,
  principalSchema,
  selectionInTimeSchema,
  selectionSchema,
} from "../sessions/outside-schemas.ts";
import { askRecord, findSelected, listSelected, recordUses } from "./selected-records.ts";
import { endChat } from "./end-chat.ts";
import type { SessionsContext } from "../sessions/sessions-context.ts";
import { openWaiting } from "./open-waiting.ts";
import { deleteCalls, type ListedCall, type OpenCall } from "../waiting/waiting-records.ts";

/** The uses of a principal's sessions outside of a step, in a store or a state. */
export function createManagement(
  context: SessionsContext,
): Pick<DurableSessions<any>, "list" | "status" | "restart" | "clearTools" | "end" | "endAll"> {
  const { store } = context;
  const findOf = async (of: string | SharedId, selected: SessionSelection) =>
    await findSelected(context, of, selected, recordOwner(selected.principal));
  return {
    async list(query) {
      const selected = checkOptions(listSchema, query);
      const owner = recordOwner(selected.principal);
      const { records, cursor } = await listSelected(context, selected, owner);
      return { sessions: records.map(describeRecord), cursor };
    },
    async status(of, selection) {
      const selected = checkOptions(selectionInTimeSchema, selection);
      const { records } = await findOf(of, selected);
      const useOf = recordUses(context, selected);
      return await inParallel(records, (stored) => askRecord(context, stored, useOf(stored)));
    },
    async restart(of, selection) {
      const selected = checkOptions(selectionInTimeSchema, selection);
      const { records } = await findOf(of, selected);
      return await endFound(context, of, selected, records, "restart");
    },
    async clearTools(of, selection) {
      const selected = checkOptions(selectionSchema, selection);
      const { records } = await findOf(of, selected);
      await inParallel(records, async (stored) => {
        await forgetToolList(store, stored.of, stored, selected.principal);
      });
    },
    async end(of, selection) {
      const selected = checkOptions(selectionInTimeSchema, selection);
      const found = await findOf(of, selected);
      const [ended] = await Promise.all([
        endFound(context, of, selected, found.records, "end"),
        endCalls(context, found.waiting, selected.principal),
        deleteSeen(store, found.seen, selected.principal),
        endChat(context, of, selected),
      ]);
      return ended;
    },
    async endAll(query) {
      const { principal } = checkOptions(principalSchema, query);
      const owner = recordOwner(principal);
      const { records, seen, waiting, grants } = await listAll(store, { owner });
      const [ended, processes] = await Promise.all([
        endRecords(context, records, { principal }, "delete"),
        endKept(context, [], { principal }, "end"),
        endCalls(context, waiting, principal),
        deleteSeen(store, seen, principal),
        deleteChats(store, { owner: chatRecordsOwner(principal) }),
      ]);
      // Not before: the end of a session on its server needs a token.
      await forgetGrants(context, grants, principal);
      return [...ended, ...processes];
    },
  };
}

/** Deletes waiting calls, and has the servers stop that keep one, best effort. */
async function endCalls(
  context: SessionsContext,
  calls: readonly ListedCall[],
  principal: Principal,
): Promise<void> {
  const open = await deleteCalls(context, calls, principal);
  const cancel = async ({ of: { agent, sessionId }, record }: OpenCall) =>
    await openWaiting({ ...context, agent }, sessionId, principal).cancel(record);
  await inParallel(open, async (call) => await cancel(call).catch(() => undefined));
}

/** Ends the sessions on their servers, and the processes in a pool. */
async function endFound(
  context: SessionsContext,
  of: string | SharedId,
  selected: SelectionInTime,
  records: readonly ListedRecord[],
  mode: "restart" | "end",
): Promise<EndedSession[]> {
  const [ended, kept] = await Promise.all([
    endRecords(context, records, selected, mode),
    // No stdio server is shared.
    typeof of === "string" ? endKept(context, [context.agent, of], selected, mode) : [],
  ]);
  return [...ended, ...kept];
}

/** Ends the stdio servers that the pool has. @param scope names the agent, and the agent session */
async function endKept(
  { provider: { pool }, namespace }: SessionsContext,
  scope: readonly unknown[],
  { principal, connection, name }: SessionSelection,
  mode: "restart" | "end",
): Promise<EndedSession[]> {
  if (pool === undefined) return [];
  const selects = (slot: SlotName) =>
    (connection === undefined || slot.connection === connection) &&
    (name === undefined || slot.name === name);
  const ended = await pool.end([namespace, ...scope], principal, selects, mode);
  return ended.map(({ scope: own, ...end }) => ({ ...end, sessionId: own[2] as string }));
}

async function endRecords(
  context: SessionsContext,
  records: readonly ListedRecord[],
  selected: SelectionInTime,
  mode: EndMode,
): Promise<EndedSession[]> {
  const useOf = recordUses(context, selected);
  const ended = await inParallel(
    records,
    async (stored) => await endRecord(context, stored.of, stored, { ...useOf(stored), mode }),
  );
  return ended.filter((result) => result !== undefined);
}

/**
 * Has each `auth` of the declared connections forget a principal, and deletes what is left of sign-ins in the
 * store. One that fails keeps none of the others from it.
 */
async function forgetGrants(
  { provider, store }: SessionsContext,
  grants: readonly ListedGrant[],
  principal: Principal,
): Promise<void> {
  const declared = Object.values(clientConnections(provider.declaredFor(principal)));
  const sources = declared.flatMap(({ options: { auth } }) =>
    typeof auth === "object" ? [auth] : [],
  );
  const found = await inParallel(grants, async ({ of }) => {
    // Not the listed key: a store may list a fingerprint instead of the principal.
    const key = oauthKeys.of(of.kind, of.id, principal);
    return { key, revision: (await store.get(key))?.revision };
  });
  const outcomes = await Promise.allSettled(
    [...new Set(sources)].map(async (auth) => await auth.deleteAll?.({ principal })),
  );
  await inParallel(found, async ({ key, revision }) => {
    // What has changed is what an `auth` has left: a mark, so that a sign-in under way brings nothing back.
    if (revision !== undefined) await store.delete(key, revision);
  });
  const failed = outcomes.find(({ status }) => status === "rejected");
  if (failed?.status === "rejected") throw failed.reason;
}
