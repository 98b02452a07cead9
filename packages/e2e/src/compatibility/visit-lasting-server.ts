import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startModule } from "../processes/start-module.ts";
import type { TestServer } from "../servers/server-process.ts";
import {
  type LastingEnd,
  type LastingLeg,
  type LastingWay,
  lastingWays,
} from "./lasting-protocol.ts";
import { type LastingScenario, lastingScenarios, type LastingServer } from "./lasting-servers.ts";

export type LastingSeen = Map<LastingWay, Map<LastingScenario, string>>;

/** A server whose calls last, with what was seen of it. */
export interface LastingRow {
  server: LastingServer;
  seen: LastingSeen;
  /** Where this differs from what was expected, a line each. */
  surprises: string[];
  /** Why it did not run. */
  unavailable?: string;
}

/** What most of them show. */
const usual: Record<LastingScenario, string> = {
  left: "worked",
  asks: "worked",
  "server restarted": "outcome-unknown",
};

/** The ways in which a server is visited: the first version of the SDK has no revision without sessions. */
const waysOf = ({ revision, ways }: LastingServer): readonly LastingWay[] =>
  ways ?? (revision === "2026-07-28" ? lastingWays.slice(0, -1) : lastingWays);

/** The scenarios that a server is for. */
const scenariosOf = ({ call, asking }: LastingServer) =>
  lastingScenarios.filter((scenario) =>
    scenario === "left" ? call : scenario === "asks" ? asking : (call ?? asking),
  );

/** Starts the server, has all scenarios run in these ways, and stops it. */
export async function visitLastingServer(
  lasting: LastingServer,
  ways: readonly LastingWay[] = waysOf(lasting),
): Promise<LastingRow> {
  const folder = mkdtempSync(join(tmpdir(), "durable-mcp-lasting-"));
  const server = await lasting.start();
  const visit = { lasting, server, folder };
  try {
    const seen: LastingSeen = new Map(ways.map((way) => [way, new Map()]));
    // The restart ends what goes on.
    for (const scenario of scenariosOf(lasting))
      for (const way of ways) seen.get(way)!.set(scenario, await observe(visit, way, scenario));
    return { server: lasting, seen, surprises: surprisesOf(lasting, seen) };
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** A line for everything that was seen and not expected. */
export function surprisesOf(lasting: LastingServer, seen: LastingSeen): string[] {
  return [...seen].flatMap(([way, scenarios]) =>
    scenariosOf(lasting).flatMap((scenario) => {
      const outcome = scenarios.get(scenario) ?? "nothing";
      const expected = lasting.exceptions?.[scenario] ?? usual[scenario];
      const where = `${lasting.name}, ${scenario}, ${way}`;
      return outcome === expected ? [] : [`${where}: expected ${expected}, saw ${outcome}`];
    }),
  );
}

/** A process makes the call and ends. Another one looks, and the last one until the call is over. */
async function observe(
  { lasting, server, folder }: { lasting: LastingServer; server: TestServer; folder: string },
  way: LastingWay,
  scenario: LastingScenario,
): Promise<string> {
  const { call, asking, type, revision } = lasting;
  const { tool, args, expected } = scenario === "asks" || !call ? asking! : call;
  const storePath = join(folder, `${way}-${scenario}.db`.replaceAll(/[/ ]/g, "-"));
  const leg: LastingLeg = {
    ...{ way, url: server.url, storePath, tool },
    ...(revision === "2025-11-25" && { session: "stateful" }),
  };
  const made = await inProcess({ ...leg, args });
  const begins = scenario === "asks" && made === "question" ? "question" : type;
  if (made !== begins) return `at first ${made}`;
  if (scenario === "server restarted") await server.restart();
  else {
    const looked = await inProcess(leg);
    // On a busy machine the server may be faster than the process.
    if (looked.includes(expected)) return "worked";
    if (![type, "question"].includes(looked)) return `early ${looked}`;
  }
  const outcome = await inProcess({
    ...{ ...leg, untilMs: 20_000 },
    ...(scenario === "asks" && { answer: asking!.answer }),
  });
  return outcome.includes(expected) ? "worked" : outcome;
}

/** What a process of its own sees. */
async function inProcess(input: LastingLeg): Promise<string> {
  const program = new URL("lasting-program.ts", import.meta.url);
  const step = await startModule<LastingLeg, LastingEnd>(program, { input });
  return (await step.finish()).output.outcome;
}
