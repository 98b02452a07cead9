import { oneLine } from "@durable-mcp/core/internal";
import { type CallRow, isOpen, type SessionRow } from "../store/look.ts";
import { count, printBytes, printDuration, printTime } from "../output/print-values.ts";

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

/** The connection of a session, and its name if it has one. */
export function connectionOf({ of: { connection, name, shared } }: SessionRow): string {
  if (shared !== undefined) return oneLine(`${connection} / ${shared}`);
  return oneLine(name === undefined ? connection : `${connection} / ${name}`);
}

/** The agent session of a row, for a table. */
function placeOf({ agentSession }: SessionRow | CallRow): string {
  return agentSession ?? "shared";
}

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

/** The rows of the table of a session, in the order of the columns. */
export const sessionHead = [
  "row",
  "owner",
  "agent\nsession",
  "connection",
  "idle",
  "size",
  "state",
];

export function sessionCells(row: SessionRow, calls: readonly CallRow[], now: number): string[] {
  const waits = callsOf(row, calls).length;
  return [
    row.row,
    row.owner,
    placeOf(row),
    connectionOf(row),
    printDuration(Math.max(0, now - row.lastUsedAt)),
    printBytes(row.bytes),
    outcomeOf(row) + (waits > 0 ? `; ${count(waits, "call")} wait${waits === 1 ? "s" : ""}` : ""),
  ];
}

/** A session for `--json`. Times are ISO texts. */
export function sessionJson(row: SessionRow, calls: readonly CallRow[], now: number) {
  const { details, of, isSealed, agent, agentSession, owner, bytes, lastUsedAt } = row;
  const { kind, startedAt, refusedSince, tools } = details;
  return {
    ...{ row: row.row, owner, agent, agentSession, connection: of.connection },
    ...{ name: of.name, shared: of.shared },
    kind: isSealed ? "sealed" : kind,
    outcome: outcomeOf(row),
    ...{
      servers: details.origins,
      server: details.server,
      protocolVersion: details.protocolVersion,
    },
    startedAt: startedAt === undefined ? undefined : printTime(startedAt),
    lastUsedAt: printTime(lastUsedAt),
    idleMs: Math.max(0, now - lastUsedAt),
    ...{ idleTimeoutMs: details.idleTimeoutMs, bytes },
    tools: tools && { count: tools.count, listedAt: printTime(tools.listedAt) },
    refusedSince: refusedSince === undefined ? undefined : printTime(refusedSince),
    ...{ stillToEnd: details.stillToEnd, waiting: callsOf(row, calls).map((each) => each.row) },
  };
}
