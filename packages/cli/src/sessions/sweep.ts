import { wrongUsage } from "../output/command-failure.ts";
import { deleteUnusedCalls, leastIdleMs } from "@durable-mcp/ai-sdk/internal";
import type { Command } from "commander";
import { tell } from "../output/print.ts";
import { filterLook, type RowFilter } from "../store/choose-rows.ts";
import { lookInto } from "../store/look.ts";
import { type OpenedStore, withStore } from "../store/open-store.ts";
import { parseDuration, printDuration } from "../store/print-values.ts";
import { confirmEnd, type EndingOptions } from "./end.ts";
import { endRows, printEnds } from "./end-rows.ts";

interface SweepOptions extends EndingOptions, Pick<RowFilter, "agent"> {
  readonly idle: string;
  readonly touchInterval: string;
}

/** Ends sessions, and deletes waiting calls, that nobody has used for a time. */
export async function sweepSessions(options: SweepOptions, command: Command): Promise<void> {
  const idleForMs = durationOf("--idle", options.idle);
  const touchMs = durationOf("--touch-interval", options.touchInterval);
  // What the library's own sweep spares: marks of use come now and then, and clocks differ by 15 of them.
  const leastMs = leastIdleMs(touchMs) + 15 * touchMs;
  if (idleForMs < leastMs) {
    throw wrongUsage(
      `--idle must be ${printDuration(leastMs)} or more: a session in use is only marked now and then, and clocks differ.`,
    );
  }
  await withStore(options, async (opened) => {
    const idle = async () => await findIdle(opened, options, command, Date.now() - idleForMs);
    const seen = await idle();
    if (seen.sessions.length + seen.calls.length === 0) {
      printEnds(command, { ends: [], waitingCalls: 0 }, { json: options.json, isTold: true });
      tell(command, `Nothing was unused for ${options.idle}.`);
      return;
    }
    const access = await confirmEnd({ ...seen, options, command });
    // A mark of use keeps the revision, and the answer may have taken a while.
    const still = new Set((await idle()).all.map(({ stored }) => stored.key));
    const sessions = seen.sessions.filter(({ stored }) => still.has(stored.key));
    const calls = seen.calls.filter(({ stored }) => still.has(stored.key));
    const ends = await endRows(opened, sessions, { mode: "sweep", access });
    const waitingCalls = await deleteUnusedCalls(
      opened,
      calls.map(({ stored }) => stored),
    );
    const isTold = access !== undefined;
    printEnds(command, { ends, waitingCalls }, { json: options.json, isTold });
  });
}

async function findIdle(
  opened: OpenedStore,
  filter: Pick<RowFilter, "agent">,
  command: Command,
  idleSince: number,
) {
  const look = filterLook(await lookInto(opened, command), filter);
  // Later releases sweep their own records.
  const sessions = look.sessions.filter(
    ({ lastUsedAt, details }) => lastUsedAt <= idleSince && details.kind !== "newer",
  );
  const calls = look.calls.filter(({ lastUsedAt, isNewer }) => lastUsedAt <= idleSince && !isNewer);
  return { sessions, calls, all: [...sessions, ...calls] };
}

function durationOf(option: string, text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined) throw wrongUsage(`${option} must be like 30m, 12h or 7d`);
  return ms;
}
