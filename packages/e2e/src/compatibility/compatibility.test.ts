import { describe, expect, test } from "vitest";
import type { ClientName } from "../clients/index.ts";
import { isMatrix } from "../matrix/pairs.ts";
import { renderColdSteps } from "./cold-page.ts";
import { coldServer } from "./cold-steps.ts";
import { describeLimits } from "./limits.ts";
import { type MatrixServer, scenarioNames } from "./matrix-server.ts";
import { renderPage } from "./page.ts";
import { replacePart } from "./page-parts.ts";
import { renderAskingServers } from "./asking-page.ts";
import { type AskingScenario, askingScenarios } from "./asking-protocol.ts";
import type { AskingObservation, AskingSeen } from "./asking-scenarios.ts";
import { askingServers } from "./asking-servers.ts";
import { renderLastingServers } from "./lasting-page.ts";
import { presentLastingServers } from "./lasting-servers.ts";
import { presentServers } from "./present-servers.ts";
import { surprisesOf, visitAskingServer } from "./visit-asking-server.ts";
import {
  type LastingSeen,
  surprisesOf as lastingSurprises,
  visitLastingServer,
} from "./visit-lasting-server.ts";
import { type ServerReport, surprisesIn, visitServer } from "./visit-server.ts";

// The dialect that no other test has, and one more; `npm run lab -- compatibility` runs all servers.
const names = ["SDK v1, one transport", "server-everything"];
const servers = presentServers.filter(({ name }) => names.includes(name));
const clients: ClientName[] = ["@ai-sdk/mcp 2"];

describe.runIf(isMatrix)("the compatibility matrix", () => {
  test.concurrent.each(servers)(
    "shows what is recorded of $name (S5, S17, S31, S56, S58)",
    { timeout: 90_000 },
    async (server) => {
      const report = await visitServer(server, clients);
      expect(report.surprises).toEqual([]);
      const seen = report.seen.get("@ai-sdk/mcp 2");
      expect([...(seen?.keys() ?? [])]).toEqual(scenarioNames);
      expect(seen?.get("killed before the answer")?.calls).toBe(1);
    },
  );
});

describe.runIf(isMatrix)("servers that ask", () => {
  test(
    "are answered from other processes, with one request each",
    { timeout: 90_000 },
    async () => {
      const { seen, surprises } = await visitAskingServer(askingServers[0]!, ["provider-pausing"]);
      expect(surprises).toEqual([]);
      const scenarios = seen.get("provider-pausing");
      expect([...(scenarios?.keys() ?? [])]).toEqual(askingScenarios);
      expect(scenarios?.get("answered")?.requests).toEqual(["1", "1 + 2"]);
    },
  );
});

describe.runIf(isMatrix)("servers whose calls last", () => {
  test.each(presentLastingServers)(
    "let other processes go on with them: $name",
    { timeout: 240_000 },
    async (server) => {
      const { seen, surprises } = await visitLastingServer(server);
      expect(surprises).toEqual([]);
      expect(seen.size).toBeGreaterThanOrEqual(2);
    },
  );
});

const none = { cold: "", asking: "", lasting: "" };

describe("what the matrix makes of answers", () => {
  const server = askingServers[0]!;

  test("says nothing when all is as recorded", () => {
    expect(surprisesOf(server, seenWith({}))).toEqual([]);
  });

  test.each([
    [{ outcome: "worked" }, "saw worked"],
    [{ requests: ["2"] }, "took 2 requests"],
    [{ requests: ["1", "3 + 2"] }, "took 3 + 2 requests"],
  ])("names %o", (own, surprise) => {
    expect(surprisesOf(server, seenWith(own))).toEqual([expect.stringContaining(surprise)]);
  });

  test("puts them on the page", () => {
    const row = { server, seen: seenWith({}), surprises: [] };
    const part = renderAskingServers([row], "2026-11-22");
    expect(part).toContain("two rounds of forms | worked (1, 1 + 2) | one leg | worked (1, 1) |");
    const page = renderPage([], none, "2026-11-22");
    const before = "## Every server";
    const whole = replacePart(page, part, before);
    expect(whole).toBe(renderPage([], { ...none, asking: part }, "2026-11-22"));
    expect(replacePart(whole, part, before)).toBe(whole);
  });
});

describe("what the matrix makes of cold steps", () => {
  test.each([
    ["server-everything", ["stateful"]],
    ["SDK v1, one transport", ["stateful"]],
    ["SDK v2 createMcpHandler", ["stateful", "pinned", "stateful, pinned"]],
    ["SDK v2 modern only", ["pinned", "stateful, pinned"]],
  ])("expects one request of %s where it is %j", (name, single) => {
    const cold = coldServer(presentServers.find((server) => server.name === name)!);
    expect(cold?.single).toEqual(single);
    expect(cold?.ways).toEqual(expect.arrayContaining(single));
  });

  test("puts them on the page", () => {
    const row = { name: "a server", requests: { stateless: 8, stateful: 1 }, surprises: [] };
    const part = renderColdSteps([row], "2026-11-23");
    expect(part).toContain("| a server | 8 | 1 |  |  |  |");
    const page = renderPage([], none, "2026-11-23");
    expect(replacePart(page, part, "## What does not work")).toBe(
      renderPage([], { ...none, cold: part }, "2026-11-23"),
    );
  });
});

const seenAs = (left: string): LastingSeen => {
  const outcomes = { left, asks: "worked", "server restarted": "outcome-unknown" };
  return new Map([["@ai-sdk/mcp", new Map(Object.entries(outcomes) as never)]]);
};

describe("what the matrix makes of calls that last", () => {
  const server = presentLastingServers[0]!;
  test("says nothing when all is as recorded, and names what is not", () => {
    expect(lastingSurprises(server, seenAs("worked"))).toEqual([]);
    expect(lastingSurprises(server, seenAs("task"))).toEqual([expect.stringContaining("saw task")]);
  });

  test("puts them on the page", () => {
    const row = { server, seen: seenAs("worked"), surprises: [] };
    const part = renderLastingServers([row], "2026-11-28");
    expect(part).toContain("| task of 2026-07-28 | worked | worked | outcome-unknown |");
    const page = renderPage([], none, "2026-11-28");
    expect(replacePart(page, part, "## Every server")).toBe(
      renderPage([], { ...none, lasting: part }, "2026-11-28"),
    );
  });
});

describe("what the matrix makes of it", () => {
  const server = presentServers.find(({ name }) => name === "server-everything")!;

  test("says nothing when all is as recorded", () => {
    const report = reportOf(server, {});
    expect(surprisesIn(server, report)).toEqual([]);
    expect(describeLimits([{ server, report, extra: false }])).toEqual([]);
  });

  test.each([
    { scenario: "resumed", outcome: "recovered" },
    { scenario: "id unknown", outcome: "loss not visible" },
    { scenario: "killed before the answer", outcome: "OUTCOME_UNKNOWN, sent 2 times, then worked" },
  ])("names $outcome where $scenario showed it", ({ scenario, outcome }) => {
    const surprises = surprisesIn(server, reportOf(server, { [scenario]: outcome }));
    expect(surprises).toHaveLength(1);
    expect(surprises[0]).toContain(`saw ${outcome}`);
  });

  test("names a resumed call that took more than one request", () => {
    const surprises = surprisesIn(server, reportOf(server, {}, 4));
    expect(surprises).toEqual([expect.stringContaining("requests when resumed")]);
  });

  test("names a refusal in other words, and one that is gone", () => {
    const report = reportOf(server, {});
    const refusal = { status: 404, contentType: "none", text: "gone", loss: "definite" } as const;
    const refusals = { unknown: refusal, ended: refusal, restarted: refusal, ending: 200 };
    expect(surprisesIn(server, { ...report, refusals })).toHaveLength(3);
    expect(surprisesIn(server, { name: server.name, seen: report.seen, surprises: [] })).toEqual([
      expect.stringContaining("its refusals were not asked"),
    ]);
  });

  test("puts what does not work on the page, in a sentence with the server's name", () => {
    const report = reportOf(server, { "id unknown": "loss not visible" });
    const page = renderPage([{ server, report, extra: false }], none, "2026-11-22");
    expect(page).toContain("In *id unknown*: **server-everything** takes the id");
  });
});

/** A report in which all went as recorded but for these outcomes. */
function reportOf(
  server: MatrixServer,
  outcomes: Partial<Record<string, string>>,
  requestsWhenResumed = 1,
): ServerReport {
  const well: Record<string, string> = {
    "id unknown": "recovered",
    "ended by someone else": "recovered",
    "server restarted": "recovered",
    "killed before the answer": "OUTCOME_UNKNOWN, then recovered",
  };
  const text = "Bad Request: No valid session ID provided";
  const refusal = { status: 400, contentType: "application/json", text, loss: "definite" } as const;
  const seen = scenarioNames.map((scenario) => {
    const outcome = outcomes[scenario] ?? well[scenario] ?? "worked";
    return [scenario, { outcome, requests: requestsWhenResumed, calls: 1 }] as const;
  });
  return {
    name: server.name,
    refusals: { unknown: refusal, ended: refusal, restarted: refusal, ending: 200 },
    seen: new Map([["@ai-sdk/mcp 2", new Map(seen)]]),
    surprises: [],
  };
}

/** What was seen in one way, all as recorded but for this. */
function seenWith(own: Partial<AskingObservation>): AskingSeen {
  const usual: [AskingScenario, AskingObservation][] = [
    ["answered", { outcome: "worked", requests: ["1", "1 + 2"] }],
    ["two answers at once", { outcome: "one leg", requests: [] }],
    ["server restarted", { outcome: "worked", requests: ["1", "1"] }],
    ["state expired", { outcome: "expired", requests: ["1"], ...own }],
  ];
  return new Map([["provider-pausing", new Map(usual)]]);
}
