import type { ClientName } from "../clients/index.ts";
import { type ScenarioName, scenarioNames } from "./matrix-server.ts";
import type { MatrixRow } from "./page.ts";

/** What an outcome means for whoever uses such a server, where not all is well. */
const consequences: { seen: RegExp; says: string }[] = [
  {
    seen: /^loss not visible/,
    says: "goes on as if the id were good, with nothing that the session held: the loss cannot be seen on the wire, and neither the session fetch nor the client reports it",
  },
  {
    seen: /^SESSION_LOST/,
    says: "refuses the new session as well, so the call fails once with `SESSION_LOST`; it takes no other session until it is started again",
  },
  {
    seen: /^HTTP \d+/,
    says: "answers with an HTTP status that says nothing of the session, so the client reports that status and no new session is started",
  },
  {
    seen: /^ERA_UNSUPPORTED/,
    says: "has no sessions and no `initialize`, so a client that does not probe for the new revision fails with `ERA_UNSUPPORTED`",
  },
  {
    seen: /^no usable answer to initialize/,
    says: "answers `initialize` with an event stream that is not well-formed, so no client can connect",
  },
  {
    seen: /^network error, then/,
    says: "had sent no response headers when it was killed, so the call fails with the error of the platform's `fetch`, not with `OUTCOME_UNKNOWN`; whether it was carried out is unknown all the same, and it is not sent again",
  },
  { seen: /^broken/, says: "gave what nobody expected" },
];

interface Finding {
  servers: Set<string>;
  scenarios: Set<ScenarioName>;
  clients: Set<ClientName>;
  outcomes: Set<string>;
}

/** One sentence for each thing that does not work, with the servers, scenarios and clients that showed it. */
export function describeLimits(rows: MatrixRow[]): string[] {
  const clientsOf = new Set(rows.flatMap(({ report }) => [...report.seen.keys()]));
  return consequences.flatMap(({ seen, says }) => {
    const byScenarios = Map.groupBy(rows, (row) => scenariosThatShow(row, seen).join(", "));
    byScenarios.delete("");
    return [...byScenarios.values()].map((group) => {
      const found = collect(group, seen);
      const who = [...found.servers].map((name) => `**${name}**`).join(", ");
      const clients =
        found.clients.size < clientsOf.size ? ` (${[...found.clients].join(", ")})` : "";
      const outcomes =
        seen.source.startsWith("^broken") || seen.source.startsWith("^HTTP")
          ? `: ${[...found.outcomes].join("; ")}`
          : "";
      return `After *${[...found.scenarios].join("*, *")}*${clients}, ${who}: ${says}${outcomes}.`;
    });
  });
}

function scenariosThatShow({ report }: MatrixRow, outcome: RegExp): ScenarioName[] {
  return scenarioNames.filter((scenario) =>
    [...report.seen.values()].some((seen) => outcome.test(seen.get(scenario)?.outcome ?? "")),
  );
}

function collect(rows: MatrixRow[], wanted: RegExp): Finding {
  const found: Finding = {
    servers: new Set(),
    scenarios: new Set(),
    clients: new Set(),
    outcomes: new Set(),
  };
  for (const { server, report } of rows) {
    for (const [client, seen] of report.seen) {
      for (const [scenario, { outcome }] of seen) {
        if (!wanted.test(outcome)) continue;
        found.servers.add(server.name);
        found.scenarios.add(scenario);
        found.clients.add(client);
        found.outcomes.add(outcome);
      }
    }
  }
  return found;
}
