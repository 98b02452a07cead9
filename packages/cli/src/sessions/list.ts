import type { Command } from "commander";
import { print, printJson } from "../output/print.ts";
import { renderTable } from "../output/table.ts";
import { filterLook, hasFilter, type RowFilter } from "../store/choose-rows.ts";
import { isOpen, lookInto } from "../store/look.ts";
import { withStore } from "../store/open-store.ts";
import { count, printBytes } from "../output/print-values.ts";
import { type StoreOptions, typed } from "../store/store-options.ts";
import { sessionCells, sessionHead, sessionJson } from "./describe-session.ts";

/** A table of more rows says nothing to a person. */
const mostRows = 100;

/** Lists the sessions of a store, those that were used last first. */
export async function listSessions(
  options: StoreOptions & RowFilter,
  command: Command,
): Promise<void> {
  await withStore(options, async (opened) => {
    const look = filterLook(await lookInto(opened, command), options);
    const { sessions, calls, signIns } = look;
    const now = Date.now();
    const shown = sessions.slice(0, mostRows);
    const waiting = calls.filter(isOpen).length;
    const bytes = sessions.reduce((sum, row) => sum + row.bytes, 0);
    if (options.json) {
      printJson(command, {
        store: opened.name,
        sessions: sessions.map((row) => sessionJson(row, calls, now)),
        ...{ total: sessions.length, bytes, waiting, signIns },
      });
      return;
    }
    if (sessions.length === 0) {
      print(command, `${opened.name} has no sessions${hasFilter(options) ? " like these" : ""}.`);
    } else {
      const agents = new Set(shown.map(({ agent }) => agent));
      const rows = shown.map((row) => {
        const cells = sessionCells(row, calls, now);
        return agents.size > 1
          ? [...cells.slice(0, 2), row.agent ?? "-", ...cells.slice(2)]
          : cells;
      });
      const head = [...sessionHead];
      if (agents.size > 1) head.splice(2, 0, "agent");
      print(command, renderTable(rows, { head }));
      const owners = new Set(sessions.map(({ owner }) => owner)).size;
      const more = sessions.length - shown.length;
      print(
        command,
        `${count(sessions.length, "session")} of ${count(owners, "owner")}, ${printBytes(bytes)}${more > 0 ? `; ${more} not shown (--json has all)` : ""}.`,
      );
    }
    const open = count(waiting, "call");
    if (waiting > 0) print(command, `${open} not answered: ${typed(["waiting", "list"], options)}`);
    if (signIns > 0) print(command, `${count(signIns, "record")} of users' sign-ins, not shown.`);
  });
}
