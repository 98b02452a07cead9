import { wrongUsage } from "../output/command-failure.ts";
import { leastIdleMs } from "@durable-mcp/ai-sdk/internal";
import type { Command } from "commander";
import { filterLook, type RowFilter } from "../store/choose-rows.ts";
import { lookInto } from "../store/look.ts";
import { type OpenedStore, withStore } from "../store/open-store.ts";
import { parseDuration, printDuration } from "../output/print-values.ts";
import { type Chosen, endChosen, type EndingOptions } from "./end.ts";

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
    const recheck = async (rows: Chosen) => {
      // A mark of use keeps the revision.
      const now = await idle();
      const still = new Set([...now.sessions, ...now.calls].map(({ stored }) => stored.key));
      return {
        sessions: rows.sessions.filter(({ stored }) => still.has(stored.key)),
        calls: rows.calls.filter(({ stored }) => still.has(stored.key)),
      };
    };
    const ifNone = `Nothing was unused for ${options.idle}.`;
    await endChosen(opened, await idle(), { options, command, mode: "sweep", ifNone, recheck });
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
  return { sessions, calls };
}

function durationOf(option: string, text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined) throw wrongUsage(`${option} must be like 30m, 12h or 7d`);
  return ms;
}
