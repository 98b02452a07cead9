import type { Command } from "commander";
import { CommandFailure, wrongUsage } from "../output/command-failure.ts";
import { print, printJson } from "../output/print.ts";
import { renderTable } from "../output/table.ts";
import type { SessionRow } from "../store/look.ts";
import { type OpenedStore, reread } from "../store/open-store.ts";
import type { ServerAccess } from "../store/server-access.ts";
import { connectionOf } from "./list.ts";

/** The outcome for a row. */
interface RowEnd {
  readonly row: string;
  readonly connection: string;
  /** Whether no session of the row is left on a server. */
  readonly ended: boolean;
  /** Whether the record is gone. */
  readonly removed: boolean;
  readonly reason?: string | undefined;
  readonly status?: number | undefined;
}

/** The origins of the servers of some rows. @throws {CommandFailure} for rows that nobody can end on a server */
export function originsOf(rows: readonly SessionRow[]): Set<string> {
  const sealed = rows.filter(({ isSealed }) => isSealed).length;
  if (sealed > 0) {
    throw wrongUsage(
      `--key-env is missing: ${sealed} of these are sealed, and where their sessions are cannot be read. Or add --records-only, and their servers are not told.`,
    );
  }
  return new Set(rows.flatMap(({ details }) => details.origins));
}

/**
 * Ends the session of a row: on its server, if that may be told, and in the store.
 *
 * @param access `undefined` to remove the record, and tell no server
 */
export async function endRow(
  opened: OpenedStore,
  row: SessionRow,
  mode: "end" | "sweep",
  access: ServerAccess | undefined,
): Promise<RowEnd> {
  const named = { row: row.row, connection: connectionOf(row) };
  const stays = { ...named, ended: false, removed: false };
  const found = await reread(opened, row);
  if (found === undefined) return { ...stays, removed: true, reason: "gone" };
  if (row.details.kind === "newer") return { ...stays, reason: "newer" };
  // With `sweep`, a record that was used since it was listed stays.
  if (mode === "sweep" && found.revision !== row.stored.revision)
    return { ...stays, reason: "used" };
  const stored = { ...row.stored, ...found };
  const hasSession =
    row.details.origins.length > 0 || row.isSealed || row.details.kind === "invalid";
  const ended = await opened.records.end(stored, mode, hasSession ? access : undefined);
  if (ended === undefined) return { ...stays, reason: "used" };
  const { reason, status, removed = false } = ended;
  return {
    ...{ ...named, removed, ended: ended.ended || !hasSession },
    ...(hasSession && !ended.ended && { reason: reason ?? "not-told" }),
    ...(status !== undefined && { status }),
  };
}

const reasons: Readonly<Record<string, string>> = {
  gone: "another process has removed it meanwhile",
  used: "another process has used it meanwhile, so it stays",
  newer: "a later release wrote it, and only that one ends it",
  "not-told": "its server was not told, and ends the session when its own time is up",
  refused: "its server refused to end the session",
  timeout: "its server did not answer in time",
  unreachable: "its server could not be reached",
  undeclared: "it has sessions of other servers too, which were not told",
};

function wordsOf({ ended, removed, reason, status }: RowEnd): string {
  if (reason === undefined) return ended ? "ended" : "removed";
  const words = reasons[reason] ?? reason;
  const answer = status === undefined ? "" : ` (${status})`;
  if (reason === "gone" || reason === "used" || reason === "newer") return words;
  return removed
    ? `removed; ${words}${answer}`
    : `${words}${answer}; the record stays for another attempt (--records-only removes it)`;
}

/** Prints the outcomes for rows. @throws {CommandFailure} if a server could not be told, or a row stays */
export function printEnds(
  command: Command,
  { ends, waitingCalls }: { ends: readonly RowEnd[]; waitingCalls: number },
  { json, isTold }: { readonly json: true | undefined; readonly isTold: boolean },
): void {
  if (json) printJson(command, { sessions: ends, waitingCalls });
  else {
    if (ends.length > 0)
      print(command, renderTable(ends.map((end) => [end.row, end.connection, wordsOf(end)])));
    if (waitingCalls > 0) print(command, `Waiting calls deleted: ${waitingCalls}.`);
  }
  const failed = ends.filter(
    ({ reason }) => reason !== undefined && reason !== "gone" && (isTold || reason !== "not-told"),
  );
  if (failed.length === 0) return;
  throw new CommandFailure(`${failed.length} of ${ends.length} did not end as asked.`);
}
