import { packageManifest } from "../processes/package-bin.ts";
import { type LastingWay, lastingWays } from "./lasting-protocol.ts";
import { type LastingScenario, lastingScenarios } from "./lasting-servers.ts";
import { environment, notRun, plainOutcome, table } from "./page-parts.ts";
import type { LastingRow } from "./visit-lasting-server.ts";

const meaning: Record<LastingScenario, string> = {
  left: "the second process looks while the server works, and the third one gets the result",
  asks: "the server asks a person; the third process brings the answer, and gets the result",
  "server restarted": "the server is killed with `kill -9` and started again before the look",
};

/** The part of the page about servers whose calls outlive the process that makes them. */
export function renderLastingServers(rows: readonly LastingRow[], date: string): string {
  const ran = rows.filter(({ unavailable }) => unavailable === undefined);
  const clients = lastingWays.slice(1).map((name) => `${name} ${packageManifest(name).version}`);
  return [
    "## Servers whose calls last",
    `One process calls a tool that takes seconds, waits for 0.3 seconds, and ends. The server keeps the call, as a task or on a stream that can be resumed. Other processes go on, with a new client, a new store on the same SQLite file, and nothing else of the first process. It is done in four ways: ${lastingWays.join(", ")}.`,
    environment(date, clients),
    lastingScenarios.map((scenario) => `- **${scenario}**: ${meaning[scenario]}`).join("\n"),
    "*worked*: the call is settled with the server's own result. *outcome-unknown*: the server does not know the call any more, and it is not made again.",
    table([
      ["server", "keeps", ...lastingScenarios],
      ...ran.map((row) => [
        row.server.name,
        `${row.server.type} of ${row.server.revision}`,
        ...lastingScenarios.map((scenario) => outcomeOf(row, scenario)),
      ]),
    ]),
    ran.map(describeServer).join("\n"),
    notRun(rows.map(({ server, unavailable }) => ({ name: server.name, unavailable }))),
  ]
    .filter((part) => part !== "")
    .join("\n\n");
}

/** What all ways share, or each way's own. */
function outcomeOf({ seen }: LastingRow, scenario: LastingScenario): string {
  const cells = [...seen].flatMap(([way, scenarios]): [LastingWay, string][] => {
    const outcome = scenarios.get(scenario);
    return outcome === undefined ? [] : [[way, plainOutcome(outcome)]];
  });
  const outcomes = [...new Set(cells.map(([, outcome]) => outcome))];
  if (outcomes.length <= 1) return outcomes.join();
  return cells.map(([way, outcome]) => `${way}: ${outcome}`).join("; ");
}

function describeServer({ server, seen }: LastingRow): string {
  const versions = server.packages.map(
    (name) => `${name} ${packageManifest(name, server.installed).version}`,
  );
  const ways = seen.size === lastingWays.length ? "all four ways" : [...seen.keys()].join(", ");
  const note = server.note === undefined ? "" : `; ${server.note}`;
  return `- **${server.name}**: ${versions.join(", ")}; ${ways}${note}.`;
}
