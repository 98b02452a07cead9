import { oneLine } from "@durable-mcp/core/internal";
import type { Command } from "commander";
import { print, printJson } from "../output/print.ts";
import { count, printAge, printBytes, printTime } from "../output/print-values.ts";
import { renderTable } from "../output/table.ts";
import { filterLook, hasFilter, type RowFilter } from "../store/choose-rows.ts";
import { type CallRow, isOpen, lookInto, type SessionRow } from "../store/look.ts";
import { withStore } from "../store/open-store.ts";
import { type StoreOptions, typed } from "../store/store-options.ts";

/** A table of more rows says nothing to a person. */
const mostRows = 100;

/** Lists the sessions of a store, those that were used last first. */
export async function listSessions(
  options: StoreOptions & RowFilter,
  command: Command,
): Promise<void> {
  await withStore(options, async (opened) => {
    const { sessions, calls, signIns } = filterLook(
      await lookInto(opened, command, options),
      options,
    );
    const waiting = calls.filter(isOpen).length;
    const bytes = sessions.reduce((sum, row) => sum + row.bytes, 0);
    if (options.json) {
      const listed = sessions.map((row) => sessionJson(row, calls));
      const total = sessions.length;
      printJson(command, {
        ...{ store: opened.name, sessions: listed, total, bytes, waiting, signIns },
      });
      return;
    }
    if (sessions.length === 0) {
      print(command, `${opened.name} has no sessions${hasFilter(options) ? " like these" : ""}.`);
    } else {
      print(command, sessionTable(sessions.slice(0, mostRows), calls));
      const owners = new Set(sessions.map(({ owner }) => owner)).size;
      const more = sessions.length - mostRows;
      const rest = more > 0 ? `; ${more} not shown (--json has all)` : "";
      print(
        command,
        `${count(sessions.length, "session")} of ${count(owners, "owner")}, ${printBytes(bytes)}${rest}.`,
      );
    }
    const open = count(waiting, "call");
    if (waiting > 0) print(command, `${open} not answered: ${typed(["waiting", "list"], options)}`);
    if (signIns > 0) print(command, `${count(signIns, "record")} of users' sign-ins, not shown.`);
  });
}

/** A table of sessions. With several agents it has a column for them. */
export function sessionTable(
  sessions: readonly SessionRow[],
  calls: readonly CallRow[] = [],
): string {
  const hasAgents = new Set(sessions.map(({ agent }) => agent)).size > 1;
  const agents = hasAgents ? ["agent"] : [];
  const head = ["row", "owner", ...agents, "agent\nsession", "connection", "idle", "size", "state"];
  const rows = sessions.map((row) => {
    const waits = callsOf(row, calls).length;
    return [
      ...[row.row, row.owner, ...(hasAgents ? [row.agent ?? "-"] : [])],
      ...[row.agentSession ?? "shared", connectionOf(row)],
      ...[printAge(idleMsOf(row)), printBytes(row.bytes)],
      outcomeOf(row) + (waits > 0 ? `; ${count(waits, "call")} wait${waits === 1 ? "s" : ""}` : ""),
    ];
  });
  return renderTable(rows, { head });
}

const idleMsOf = ({ stored }: SessionRow) => Math.max(0, Date.now() - stored.lastUsedAt);

/** The connection of a session, and its name if it has one. */
export function connectionOf({ of: { connection, name, shared } }: SessionRow): string {
  const given = shared ?? name;
  return oneLine(given === undefined ? connection : `${connection} / ${given}`);
}

/** What a session's last steps left, in words. */
function outcomeOf({ details, isSealed }: SessionRow): string {
  const { kind, stillToEnd, refusedSince, replacesLost } = details;
  if (isSealed) return "sealed: --key-env opens it";
  const words = [outcomes[kind]];
  if (replacesLost) words.push("took a lost one's place, and the model is not told yet");
  if (refusedSince !== undefined) words.push(`refused since ${printTime(refusedSince)}`);
  if (stillToEnd > 0) words.push(`${count(stillToEnd, "session")} still to end on the server`);
  return words.join("; ");
}

const outcomes: Readonly<Record<SessionRow["details"]["kind"], string>> = {
  session: "kept",
  lost: "lost or ended; the next step starts another",
  sessionless: "the server names no session",
  stateless: "the server has no sessions",
  remembered: "no session; its server's lists are kept",
  invalid: "does not parse; the next step starts another",
  newer: "written by a later release",
};

/** The open calls of a session's connection. A call names none of its connection's named sessions. */
function callsOf(row: SessionRow, calls: readonly CallRow[]): CallRow[] {
  return calls.filter(
    (each) =>
      isOpen(each) &&
      row.of.name === undefined &&
      each.call?.connection === row.of.connection &&
      each.agent === row.agent &&
      each.agentSession === row.agentSession &&
      each.owner === row.owner,
  );
}

/** A session for `--json`. Times are ISO texts. */
function sessionJson(row: SessionRow, calls: readonly CallRow[]) {
  const { details, of, agent, agentSession, owner, bytes, stored } = row;
  const { server, protocolVersion, startedAt, refusedSince, tools, idleTimeoutMs } = details;
  return {
    ...{ row: row.row, owner, agent, agentSession, connection: of.connection },
    ...{ name: of.name, shared: of.shared, kind: row.isSealed ? "sealed" : details.kind },
    ...{ outcome: outcomeOf(row), servers: details.origins, server, protocolVersion },
    startedAt: startedAt === undefined ? undefined : printTime(startedAt),
    ...{ lastUsedAt: printTime(stored.lastUsedAt), idleMs: idleMsOf(row), idleTimeoutMs, bytes },
    tools: tools && { count: tools.count, listedAt: printTime(tools.listedAt) },
    refusedSince: refusedSince === undefined ? undefined : printTime(refusedSince),
    ...{ stillToEnd: details.stillToEnd, waiting: callsOf(row, calls).map((each) => each.row) },
  };
}
