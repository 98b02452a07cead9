import type { Command } from "commander";
import { CommandFailure, wrongUsage } from "../output/command-failure.ts";
import type { Look, Row } from "./look.ts";

/** The options that choose rows. */
export interface RowFilter {
  readonly agent?: string;
  readonly owner?: string;
  readonly agentSession?: string;
  readonly connection?: string;
}

export function addRowFilter(command: Command): Command {
  return command
    .option("--agent <name>", "only of this agent; - for what agents share")
    .option("--owner <owner>", "only of this owner, as a list shows it")
    .option("--agent-session <session>", "only of this one: its id, or its name in a list")
    .option("--connection <name>", "only of this connection");
}

/** The part of a look that the options choose. @throws {CommandFailure} for a name of several */
export function filterLook(look: Look, filter: RowFilter): Look {
  const all = [...look.sessions, ...look.calls];
  const owner = chosenName(
    "--owner",
    filter.owner,
    all.map((row) => row.owner),
  );
  const sessionNames = all.flatMap((row) => row.agentSession ?? []);
  const byId = all.find(({ of }) => of.sessionId === filter.agentSession);
  const agentSession =
    byId?.agentSession ?? chosenName("--agent-session", filter.agentSession, sessionNames);
  const { agent, connection } = filter;
  const isChosen = (row: Row, ofConnection: string | undefined) =>
    (agent ?? row.agent ?? "-") === (row.agent ?? "-") &&
    (owner ?? row.owner) === row.owner &&
    (agentSession === undefined || agentSession === row.agentSession) &&
    (connection ?? ofConnection) === ofConnection;
  return {
    ...look,
    sessions: look.sessions.filter((row) => isChosen(row, row.of.connection)),
    calls: look.calls.filter((row) => isChosen(row, row.call?.connection)),
  };
}

/** The whole name of what is named; `undefined` if nothing is. */
function chosenName(option: string, given: string | undefined, names: readonly string[]) {
  if (given === undefined) return undefined;
  if (names.includes(given)) return given;
  // When there were fewer rows, or more of them, names were shorter or longer.
  const isNamed = (name: string) =>
    Math.min(name.length, given.length) >= 6 && (name.startsWith(given) || given.startsWith(name));
  const [named, other] = new Set(names.filter(isNamed));
  if (named === undefined)
    throw new CommandFailure(
      `${option}: nothing here is of it. A list without the option shows all.`,
    );
  if (other !== undefined) throw wrongUsage(`${option}: that is several. Give more characters.`);
  return named;
}

export function hasFilter(filter: RowFilter): boolean {
  const { agent, owner, agentSession, connection } = filter;
  return [agent, owner, agentSession, connection].some((each) => each !== undefined);
}

const shortestPrefix = 4;

/** The rows of these names, or of the start of them. @throws {CommandFailure} for a name of none, or of several */
export function rowsNamed<ROW extends Row>(rows: readonly ROW[], names: readonly string[]): ROW[] {
  const found = names.map((name) => {
    const lower = name.toLowerCase();
    if (lower.length < shortestPrefix)
      throw wrongUsage(`The name of a row has ${shortestPrefix} characters or more.`);
    const named = rows.filter(({ row }) => row.startsWith(lower) || lower.startsWith(row));
    const [row, other] = named;
    // Whatever was given may be an id, which is not repeated.
    if (row === undefined)
      throw new CommandFailure(
        "There is no row of that name. Rows are named as a list shows them.",
      );
    if (other !== undefined)
      throw wrongUsage("Several rows have that name. Give more characters of it.");
    return row;
  });
  return [...new Set(found)];
}
