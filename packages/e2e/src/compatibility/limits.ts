import type { ClientName } from "../clients/index.ts";
import { type ScenarioName, scenarioNames } from "./matrix-server.ts";
import type { MatrixRow } from "./visit-server.ts";

interface Consequence {
  seen: RegExp;
  says: string;
}

/** What a bad outcome means for users of such a server. Only measured facts. */
const consequences: Consequence[] = [
  {
    seen: /^loss not visible/,
    says: "takes the id and answers 200. Such a loss cannot be seen on the wire, and neither the session fetch nor the client reports it. The scenario did not check the session's contents",
  },
  {
    seen: /^SESSION_LOST/,
    says: "refused the new session as well, so the call failed with `SESSION_LOST`",
  },
  {
    seen: /^HTTP \d+/,
    says: "answered with a status that does not concern the session, and then a ping; the client reported the status, and no new session was started",
  },
  {
    seen: /^other-era/,
    says: "refused `initialize`; a client that does not probe for the new revision failed with `CONNECTION_UNAVAILABLE` (`other-era`)",
  },
  {
    seen: /^no usable answer to initialize/,
    says: "answered `initialize` in a way that the session fetch could not read; none of these clients connected",
  },
  { seen: /^broken/, says: "gave an unexpected outcome" },
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
  return consequences.flatMap(({ says, seen: wanted }) => {
    const byScenarios = Map.groupBy(rows, (row) => scenariosThatShow(row, wanted).join(", "));
    byScenarios.delete("");
    return [...byScenarios.values()].map((group) => {
      const found = collect(group, wanted);
      const who = [...found.servers].map((name) => `**${name}**`).join(", ");
      const clients =
        found.clients.size < clientsOf.size ? ` (${[...found.clients].join(", ")})` : "";
      const vague = ["^broken", "^HTTP"].some((start) => wanted.source.startsWith(start));
      const outcomes = vague ? `: ${[...found.outcomes].join("; ")}` : "";
      return `In *${[...found.scenarios].join("*, *")}*${clients}: ${who} ${says}${outcomes}.`;
    });
  });
}

function scenariosThatShow({ report }: MatrixRow, wanted: RegExp): ScenarioName[] {
  return scenarioNames.filter((scenario) =>
    [...report.seen.values()].some((seen) => wanted.test(seen.get(scenario)?.outcome ?? "")),
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
