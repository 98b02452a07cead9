import { packageManifest } from "../processes/package-bin.ts";
import { type ClientName, clientNames } from "../clients/index.ts";
import { extraPackages } from "./extra-packages.ts";
import { type ScenarioName, scenarioNames } from "./matrix-server.ts";
import { describeRefusal } from "./refusal.ts";
import { describeLimits } from "./limits.ts";
import { countBy, environment, notRun, plainOutcome, table } from "./page-parts.ts";
import type { MatrixRow, ServerReport } from "./visit-server.ts";

const clientPackages: Partial<Record<ClientName, string>> = {
  "@ai-sdk/mcp 2": "@ai-sdk/mcp",
  "@ai-sdk/mcp 1": "ai-sdk-mcp-1",
  "@modelcontextprotocol/sdk 1": "@modelcontextprotocol/sdk",
  "@modelcontextprotocol/client 2": "@modelcontextprotocol/client",
};

const meaning: Record<ScenarioName, string> = {
  fresh: "a first step: connect, list the tools, call",
  resumed:
    "a second step, in a new process: list the tools, one call that sees the first step's state if the server keeps any",
  "two at once":
    "two more processes on the same session at the same time, ten overlapping calls each; every call must get its own answer",
  "id unknown": "a step whose snapshot has an id that the server never gave",
  "ended by someone else": "another party sends DELETE with the session's id before the step",
  "server restarted": "the server is killed with `kill -9` and started again before the step",
  "killed before the answer":
    "the server is killed and started again while a call of the step is under way; then one more step",
};

/**
 * The page `docs/reports/compatibility.md`.
 *
 * @param parts the parts about cold steps, about servers that ask, and about those whose calls last
 */
export function renderPage(
  rows: MatrixRow[],
  { cold, asking, lasting }: { readonly [PART in "cold" | "asking" | "lasting"]: string },
  date: string,
): string {
  const ran = rows.filter(({ report }) => report.unavailable === undefined);
  return `${[
    "<!-- Written by `npm run lab -- compatibility`. Do not edit it: run the command again. -->",
    "# Compatibility",
    "The session fetch of `@durable-mcp/core` in four clients, one of them in two modes, against published servers from npm and small ones of ours on the SDKs' and frameworks' transports. Every step is a process, and a proxy counts its HTTP requests. `npm run lab -- compatibility` writes this page, and fails when a server behaves differently from its recorded behaviour. Three of the servers run in CI.",
    environment(date, clientVersions()),
    "## What was done",
    scenarioNames.map((name) => `- **${name}**: ${meaning[name]}`).join("\n"),
    "## What was seen",
    "*worked*: every call got its own answer, in the session of the step before (in *fresh*, in a first session). *recovered*: the same, in a new session, after one `initialize`. *no session*: the server gives no session; what is kept is its handshake, on revisions that have one. A code in capitals is [our error](../errors.md) for that call. *loss not visible*: the server accepted the id. *not reached*: the first step failed. The number in parentheses counts the HTTP requests of the step.",
    summary(ran),
    cold,
    "## What does not work",
    describeLimits(ran)
      .map((line) => `- ${line}`)
      .join("\n"),
    notRun(
      rows.map(({ server, report }) => ({ name: server.name, unavailable: report.unavailable })),
    ),
    "## What servers say to an id that they do not take",
    "A plain `tools/list` request asks each server, without a client. The last column has the verdict of the session fetch: after a *definite* loss it sends everything again in a new session; after *none* the answer goes unchanged to the client.",
    refusals(ran),
    asking,
    lasting,
    "## Every server",
    ...ran.map((row) => details(row)),
  ]
    .filter((part) => part !== "")
    .join("\n\n")}\n`;
}

function clientVersions(): string[] {
  return Object.entries(clientPackages).map(
    ([client, name]) => `${client.replace(/ \d.*$/, "")} ${packageManifest(name).version}`,
  );
}

/** One line a server: the outcome that all clients share, or how many had which. */
function summary(rows: MatrixRow[]): string {
  return table([
    ["server", ...scenarioNames],
    ...rows.map(({ server, report }) => [
      server.name,
      ...scenarioNames.map((scenario) => {
        const cells = [...report.seen.values()].flatMap((seen) => seen.get(scenario) ?? []);
        const outcomes = countBy(cells.map(({ outcome }) => plainOutcome(outcome)));
        if (outcomes.size === 1) {
          const requests = [...new Set(cells.map((cell) => cell.requests))].toSorted(
            (a, b) => a - b,
          );
          return `${[...outcomes.keys()].join()} (${requests.join(" or ")})`;
        }
        return [...outcomes]
          .map(([outcome, count]) => `${outcome}: ${count} of ${cells.length}`)
          .join("; ");
      }),
    ]),
  ]);
}

function refusals(rows: MatrixRow[]): string {
  const lines = rows.flatMap(({ server, report }) => {
    const seen = report.refusals;
    if (!seen) return [];
    const whichs = { unknown: "never given", ended: "ended", restarted: "from before a restart" };
    const said = Map.groupBy(Object.entries(whichs), ([which]) => {
      const refusal = seen[which as keyof typeof whichs];
      return `\`${describeRefusal(refusal)}\`|${refusal.loss}`;
    });
    return [...said].map(([answer, ids]) => {
      const names = ids.map(([, name]) => name).join(", ");
      return [server.name, ids.length === 3 ? "any of the three" : names, ...answer.split("|")];
    });
  });
  return table([["server", "id", "status, content type, message", "loss"], ...lines]);
}

function details({ server, report, extra }: MatrixRow): string {
  const packages = extra ? extraPackages : undefined;
  const versions = server.packages.map(
    (name) => `${name} ${packageManifest(name, packages).version}`,
  );
  const clients = clientNames.filter((client) => report.seen.has(client));
  return [
    `### ${server.name}`,
    `${versions.join(", ")}${server.note === undefined ? "" : `; ${server.note}`}.`,
    ...differences(report, clients),
    ...notes(report),
  ].join("\n\n");
}

/** A table of the scenarios in which the clients had different outcomes: the others are in the first table. */
function differences(report: ServerReport, clients: readonly ClientName[]): string[] {
  const cellsOf = (scenario: ScenarioName) =>
    clients.map((client) => {
      const cell = report.seen.get(client)?.get(scenario);
      if (!cell || cell.outcome === "not reached") return { text: "not reached", requests: "" };
      return { text: plainOutcome(cell.outcome), requests: ` (${cell.requests})` };
    });
  const rows = scenarioNames
    .map((scenario) => ({ scenario, cells: cellsOf(scenario) }))
    .filter(({ cells }) => new Set(cells.map(({ text }) => text)).size > 1)
    .map(({ scenario, cells }) => [scenario, ...cells.map((one) => one.text + one.requests)]);
  return rows.length === 0 ? [] : [table([["scenario", ...clients], ...rows])];
}

/** What was seen on the way, once where all clients agree. */
function notes(report: ServerReport): string[] {
  const lines = scenarioNames.flatMap((scenario) => {
    const cells = [...report.seen.values()].flatMap((seen) => seen.get(scenario) ?? []);
    const said = cells.flatMap(({ interrupted, detail }) => [
      ...(interrupted === undefined ? [] : [`answer cut off: ${interrupted}`]),
      ...(detail === undefined ? [] : [detail]),
    ]);
    return said.length === 0 ? [] : [`${scenario}: ${[...new Set(said)].join("; ")}`];
  });
  return lines.length === 0 ? [] : [`${lines.join(". ")}.`];
}
