import { wrongUsage } from "../output/command-failure.ts";
import { deleteUnusedCalls } from "@durable-mcp/ai-sdk/internal";
import type { Command } from "commander";
import { confirmAct, hasPerson } from "../output/ask.ts";
import { tell } from "../output/print.ts";
import { renderTable } from "../output/table.ts";
import { filterLook, hasFilter, type RowFilter, rowsNamed } from "../store/choose-rows.ts";
import { type CallRow, type Look, lookInto, type SessionRow } from "../store/look.ts";
import { type OpenedStore, reread, withStore } from "../store/open-store.ts";
import { count } from "../output/print-values.ts";
import { accessTo, type ServerOptions } from "../store/server-access.ts";
import type { StoreOptions } from "../store/store-options.ts";
import { sessionCells, sessionHead } from "./describe-session.ts";
import { endRows, originsOf, printEnds } from "./end-rows.ts";

export interface EndingOptions extends StoreOptions, ServerOptions {
  readonly recordsOnly?: true;
  readonly yes?: true;
}

type EndOptions = EndingOptions & RowFilter;

/** Ends sessions that rows or options choose; with options, their waiting calls too. */
export async function endSessions(
  names: readonly string[],
  options: EndOptions,
  command: Command,
): Promise<void> {
  if (names.length > 0 === hasFilter(options)) {
    throw wrongUsage(
      "Say what to end: either rows, as a list names them, or all of an --owner, --agent-session, --connection or --agent.",
    );
  }
  await withStore(options, async (opened) => {
    const rows = chosen(await lookInto(opened, command), names, options);
    await endChosen(opened, rows, {
      options,
      command,
      mode: "end",
      ifNone: "There is nothing to end.",
    });
  });
}

function chosen(look: Look, names: readonly string[], options: EndOptions): Chosen {
  if (names.length > 0) return { sessions: rowsNamed(look.sessions, names), calls: [] };
  return filterLook(look, options);
}

/** The rows that end. */
export interface Chosen {
  readonly sessions: readonly SessionRow[];
  readonly calls: readonly CallRow[];
}

interface EndUse {
  readonly options: EndingOptions;
  readonly command: Command;
  readonly mode: "end" | "sweep";
  /** Said if nothing was chosen. */
  readonly ifNone: string;
  /** Chooses of these rows once more: the answer to the question may have taken a while. */
  readonly recheck?: (rows: Chosen) => Promise<Chosen>;
}

/** Shows what was chosen, asks, and ends it: on its servers, if they may be told, and in the store. */
export async function endChosen(opened: OpenedStore, rows: Chosen, use: EndUse): Promise<void> {
  const { options, command, mode, ifNone, recheck } = use;
  const { json } = options;
  if (rows.sessions.length + rows.calls.length === 0) {
    printEnds(command, { ends: [], waitingCalls: 0 }, { json, isTold: true });
    tell(command, ifNone);
    return;
  }
  const access = await confirmEnd(rows, use);
  const { sessions, calls } = recheck ? await recheck(rows) : rows;
  // Calls are deleted without a read before it.
  if (calls[0]) await reread(opened, calls[0]);
  const ends = await endRows(opened, sessions, { mode, access });
  const storedCalls = calls.map(({ stored }) => stored);
  const waitingCalls = await deleteUnusedCalls(opened, storedCalls);
  printEnds(command, { ends, waitingCalls }, { json, isTold: access !== undefined });
}

/** Shows what will end, and asks. @returns how servers are reached; `undefined` if none is told */
async function confirmEnd({ sessions, calls }: Chosen, { options, command }: EndUse) {
  const isAsked = !options.yes && hasPerson();
  const now = Date.now();
  const rows = sessions.map((row) => sessionCells(row, [], now));
  if (rows.length > 0) tell(command, renderTable(rows, { head: sessionHead }));
  const access = options.recordsOnly
    ? undefined
    : accessTo(originsOf(sessions), options, {
        isAsked,
        otherwise: `${options.yes ? "" : ", and add --yes, because nobody can be asked without a terminal"}. Or add --records-only: then only the records go`,
      });
  const what = [
    ...(sessions.length > 0 ? [count(sessions.length, "session")] : []),
    ...(calls.length > 0 ? [count(calls.length, "waiting call")] : []),
  ].join(" and ");
  const origins = [...(access?.origins ?? [])];
  const where =
    origins.length > 0
      ? `, and tell ${origins.join(", ")}${access?.withWhat}`
      : ", and tell no server";
  await confirmAct(`End ${what}${where}?`, options);
  return access;
}
