import { principalParts } from "@durable-mcp/core";
import type { Command } from "commander";
import { CommandFailure, wrongUsage } from "../output/command-failure.ts";
import type { CallRow, Look, Row, SessionRow } from "./look.ts";

/** The options that choose rows. */
export interface RowFilter {
  readonly agent?: string;
  readonly owner?: string;
  readonly user?: string;
  readonly issuer?: string;
  readonly agentSession?: string;
  readonly connection?: string;
}

export function addRowFilter(command: Command): Command {
  return command
    .option("--agent <name>", "only of this agent; - for what agents share")
    .option("--owner <owner>", "only of this owner, as a list shows it")
    .option("--user <id>", "only of this user of the application, with --issuer")
    .option("--issuer <url>", "the user's issuer, as the application names it")
    .option("--agent-session <session>", "only of this one: its id, or its name in a list")
    .option("--connection <name>", "only of this connection");
}

/** The part of a look that the options choose. @throws {CommandFailure} for a name of several, or half a user */
export function filterLook<CALL extends CallRow>(look: Look<CALL>, filter: RowFilter): Look<CALL> {
  const { agent, connection } = filter;
  const all: (SessionRow | CallRow)[] = [...look.sessions, ...look.calls];
  const user = userOf(filter, all);
  const owners = all.map((row) => row.owner);
  const owner = filter.owner && nameLike("--owner", filter.owner, owners);
  const byId = all.find(({ of }) => of.sessionId === filter.agentSession)?.agentSession;
  const sessionNames = all.flatMap((row) => row.agentSession ?? []);
  const agentSession =
    byId ?? (filter.agentSession && nameLike("--agent-session", filter.agentSession, sessionNames));
  const isChosen = (row: SessionRow | CallRow, ofConnection: string | undefined) =>
    (agent ?? row.agent ?? "-") === (row.agent ?? "-") &&
    (owner ?? row.owner) === row.owner &&
    (user ?? row.stored.owner) === row.stored.owner &&
    (agentSession ?? row.agentSession) === row.agentSession &&
    (connection ?? ofConnection) === ofConnection;
  return {
    ...look,
    sessions: look.sessions.filter((row) => isChosen(row, row.of.connection)),
    calls: look.calls.filter((row) => isChosen(row, row.call?.connection)),
  };
}

/** The owner, as a store has it, of `--user` and `--issuer`. Messages do not repeat them. */
function userOf({ user, issuer, owner }: RowFilter, rows: readonly Row[]): string | undefined {
  if (user === undefined && issuer === undefined) return undefined;
  if (!user || !issuer) throw wrongUsage("--user needs --issuer, and --issuer needs --user.");
  if (owner !== undefined) throw wrongUsage("--owner and --user: say one of them.");
  if (rows.some((row) => row.owner.startsWith("hidden-")))
    throw wrongUsage("--user: owners are hidden here. Give the key that opens them: --key-env.");
  return JSON.stringify(principalParts({ type: "user", issuer, id: user }));
}

export function hasFilter(filter: RowFilter): boolean {
  const { agent, owner, user, issuer, agentSession, connection } = filter;
  return [agent, owner, user, issuer, agentSession, connection].some((each) => each !== undefined);
}

/** The rows of these names. @throws {CommandFailure} for a name of none, or of several */
export function rowsNamed<ROW extends Row>(rows: readonly ROW[], names: readonly string[]): ROW[] {
  const all = rows.map(({ row }) => row);
  const chosen = new Set(names.map((name) => nameLike("The row", name, all)));
  return [...chosen].map((name) => rows.find(({ row }) => row === name)!);
}

const shortestPrefix = 4;

/** The whole name of a given one, or of its start. */
function nameLike(what: string, given: string, names: readonly string[]): string {
  const lower = given.toLowerCase();
  if (names.includes(lower)) return lower;
  // Whatever was given may be an id, which is not repeated.
  if (lower.length < shortestPrefix)
    throw wrongUsage(`${what}: a name has ${shortestPrefix} characters or more.`);
  const [named, other] = new Set(names.filter((name) => name.startsWith(lower)));
  if (named === undefined)
    throw new CommandFailure(`${what}: nothing here has that name. A list shows the names.`);
  if (other !== undefined)
    throw wrongUsage(`${what}: that is the name of several. Give more characters.`);
  return named;
}
