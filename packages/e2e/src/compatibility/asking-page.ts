import { packageManifest } from "../processes/package-bin.ts";
import { type AskingScenario, askingScenarios } from "./asking-protocol.ts";
import { environment, notRun, plainOutcome, table } from "./page-parts.ts";
import { type AskingRow, askingWays } from "./visit-asking-server.ts";

const meaning: Record<AskingScenario, string> = {
  answered:
    "another process answers, each round in one of its own; the last one has the server's result",
  "two answers at once": "two processes answer the same question at the same time",
  "server restarted": "the server is killed with `kill -9` and started again before the answer",
  "state expired": "the answer comes later than the server's `requestState` is good for",
};

/** The part of the page about servers of revision 2026-07-28 that ask a person. */
export function renderAskingServers(rows: readonly AskingRow[], date: string): string {
  const ran = rows.filter(({ unavailable }) => unavailable === undefined);
  const names = Object.values(askingWays);
  const clients = ["@ai-sdk/mcp", "@modelcontextprotocol/client"].map(
    (name) => `${name} ${packageManifest(name).version}`,
  );
  return [
    "## Servers that ask a person",
    `These servers speak revision 2026-07-28, and answer a call with a question. One process makes the call and ends. The answers come from other processes, later, with a new client, a new store on the same SQLite file, and nothing else of the first process. It is done in three ways: ${names.join(", ")}.`,
    environment(date, clients),
    askingScenarios.map((scenario) => `- **${scenario}**: ${meaning[scenario]}`).join("\n"),
    "*worked*: the call is settled with the server's own result. *one leg*: the server got one of the two answers, and the other process got `NOT_WAITING`. *expired*: the server refused the state. The numbers in parentheses count the HTTP requests of each answer, a number a round. What follows a plus is the handshake with which `@durable-mcp/ai-sdk` then gets the tools to put the result into the messages.",
    table([
      ["server", ...askingScenarios],
      ...ran.map((row) => [
        row.server.name,
        ...askingScenarios.map((scenario) => outcomeOf(row, scenario)),
      ]),
    ]),
    ran.map(describeServer).join("\n"),
    notRun(rows.map(({ server, unavailable }) => ({ name: server.name, unavailable }))),
  ]
    .filter((part) => part !== "")
    .join("\n\n");
}

/** What all ways share, or each way's own. */
function outcomeOf({ seen }: AskingRow, scenario: AskingScenario): string {
  const cells = Object.entries(askingWays).flatMap(([way, name]) => {
    const cell = seen.get(way as keyof typeof askingWays)?.get(scenario);
    return cell === undefined ? [] : [{ name, ...cell }];
  });
  const outcomes = [...new Set(cells.map(({ outcome }) => plainOutcome(outcome)))];
  if (outcomes.length > 1)
    return cells.map(({ name, outcome }) => `${name}: ${plainOutcome(outcome)}`).join("; ");
  const counts = [...new Set(cells.map(({ requests }) => requests.join(", ")))].filter(Boolean);
  return `${outcomes.join()}${counts.length === 0 ? "" : ` (${counts.toSorted().join(" or ")})`}`;
}

function describeServer({ server }: AskingRow): string {
  const versions = server.packages.map(
    (name) => `${name} ${packageManifest(name, server.installed).version}`,
  );
  return `- **${server.name}**: ${versions.join(", ")}${server.note === undefined ? "" : `; ${server.note}`}.`;
}
