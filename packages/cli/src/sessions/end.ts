import { inParallel } from "@durable-mcp/sessions/internal";
import type { Command } from "commander";
import { confirmAct, hasPerson } from "../output/ask.ts";
import { wrongUsage } from "../output/command-failure.ts";
import { tell } from "../output/print.ts";
import { count, printDuration } from "../output/print-values.ts";
import { filterLook, hasFilter, type RowFilter, rowsNamed } from "../store/choose-rows.ts";
import { type Look, lookInto, type RecordedCall, type SessionRow } from "../store/look.ts";
import { type OpenedStore, reread, withStore } from "../store/open-store.ts";
import { accessTo, type ServerOptions } from "../store/server-access.ts";
import type { StoreOptions } from "../store/store-options.ts";
import { endRow, originsOf, printEnds } from "./end-rows.ts";
import { sessionTable } from "./list.ts";

interface EndingOptions extends StoreOptions, ServerOptions {
  readonly recordsOnly?: true;
  readonly yes?: true;
}

/** Ends sessions that rows or options choose; with options, their waiting calls too. */
export async function endSessions(
  names: readonly string[],
  options: EndingOptions & RowFilter,
  command: Command,
): Promise<void> {
  if (names.length > 0 === hasFilter(options)) {
    throw wrongUsage(
      "Say what to end: either rows, as a list names them, or all of an --owner, --user, --agent-session, --connection or --agent.",
    );
  }
  await withStore(options, async (opened) => {
    const look = await lookInto(opened, command);
    const rows =
      names.length > 0
        ? { sessions: rowsNamed(look.sessions, names), calls: [] }
        : filterLook(look, options);
    const ifNone = "There is nothing to end.";
    await endChosen(opened, rows, { options, command, mode: "end", ifNone });
  });
}

interface SweepOptions extends EndingOptions, Pick<RowFilter, "agent"> {
  readonly idle: string;
  readonly touchInterval: string;
}

/** Ends sessions, and deletes waiting calls, that nobody has used for a time. */
export async function sweepSessions(options: SweepOptions, command: Command): Promise<void> {
  const idleForMs = durationOf("--idle", options.idle);
  const touchMs = durationOf("--touch-interval", options.touchInterval);
  // What the library's own sweep spares: marks of use come now and then, so three of them, and clocks differ by 15.
  const leastMs = (3 + 15) * touchMs;
  if (idleForMs < leastMs) {
    throw wrongUsage(
      `--idle must be ${printDuration(leastMs)} or more: a session in use is only marked now and then, and clocks differ.`,
    );
  }
  await withStore(options, async (opened) => {
    const findIdle = async () => {
      const idleSince = Date.now() - idleForMs;
      const { sessions, calls } = filterLook(await lookInto(opened, command), options);
      const isIdle = ({ stored }: SessionRow | RecordedCall) => stored.lastUsedAt <= idleSince;
      return {
        // Later releases sweep their own records.
        sessions: sessions.filter((row) => isIdle(row) && row.details.kind !== "newer"),
        calls: calls.filter((row) => isIdle(row) && !row.isNewer),
      };
    };
    const ifNone = `Nothing was unused for ${options.idle}.`;
    const use = { options, command, mode: "sweep", ifNone, recheck: findIdle } as const;
    await endChosen(opened, await findIdle(), use);
  });
}

const lengths: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

function durationOf(option: string, text: string): number {
  const [, number, unit = ""] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  if (number === undefined) throw wrongUsage(`${option} must be like 30m, 12h or 7d`);
  return Number(number) * lengths[unit]!;
}

/** The rows that end. */
type Chosen = Pick<Look, "sessions" | "calls">;

interface EndUse {
  readonly options: EndingOptions;
  readonly command: Command;
  readonly mode: "end" | "sweep";
  /** Said if nothing was chosen. */
  readonly ifNone: string;
  /** Chooses once more: the answer to the question may have taken a while. */
  readonly recheck?: () => Promise<Chosen>;
}

/** Shows what was chosen, asks, and ends it: on its servers, if they may be told, and in the store. */
async function endChosen(opened: OpenedStore, rows: Chosen, use: EndUse): Promise<void> {
  const { options, command, mode, ifNone, recheck } = use;
  const { json } = options;
  if (rows.sessions.length + rows.calls.length === 0) {
    printEnds(command, { ends: [], waitingCalls: 0 }, { json, isTold: true });
    tell(command, ifNone);
    return;
  }
  const access = await confirmEnd(rows, use);
  const { sessions, calls } = recheck ? ofBoth(rows, await recheck()) : rows;
  // Calls are deleted without a read before it.
  if (calls[0]) await reread(opened, calls[0]);
  const ends = await inParallel(sessions, (row) => endRow(opened, row, mode, access));
  const storedCalls = calls.map(({ stored }) => stored);
  const waitingCalls = await opened.records.deleteUnusedCalls(storedCalls);
  printEnds(command, { ends, waitingCalls }, { json, isTold: access !== undefined });
}

/** The rows that a person was asked about and that are still chosen. A mark of use keeps the revision. */
function ofBoth(asked: Chosen, now: Chosen): Chosen {
  const still = new Set([...now.sessions, ...now.calls].map(({ stored }) => stored.key));
  return {
    sessions: asked.sessions.filter(({ stored }) => still.has(stored.key)),
    calls: asked.calls.filter(({ stored }) => still.has(stored.key)),
  };
}

/** Shows what will end, and asks. @returns how servers are reached; `undefined` if none is told */
async function confirmEnd({ sessions, calls }: Chosen, { options, command }: EndUse) {
  const isAsked = !options.yes && hasPerson();
  if (sessions.length > 0) tell(command, sessionTable(sessions));
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
  const origins = [...(access?.origins ?? [])].join(", ");
  const where = origins === "" ? "no server" : `${origins}${access?.withWhat}`;
  await confirmAct(`End ${what}, and tell ${where}?`, options);
  return access;
}
