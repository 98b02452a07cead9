import { createFaultyProxy } from "@durable-mcp/testing";
import type { ClientName } from "../clients/index.ts";
import type { TestServer } from "../servers/server-process.ts";
import {
  expectedOutcome,
  type MatrixServer,
  type ScenarioName,
  scenarioNames,
} from "./matrix-server.ts";
import {
  describeRefusal,
  endSession,
  listWith,
  neverGiven,
  openRawSession,
  type Refusal,
} from "./refusal.ts";
import { probeSurprises } from "./probe-servers.ts";
import { type Observation, scenarios, type Visit } from "./scenarios.ts";

/** Everything seen with one server. */
export interface ServerReport {
  name: string;
  /** Why it did not run. */
  unavailable?: string;
  /** What it says to ids that it does not take; a server without sessions has none. */
  refusals?: Record<"unknown" | "ended" | "restarted", Refusal> & {
    /** The status of a DELETE with a live id. */
    ending: number;
  };
  seen: Map<ClientName, Map<ScenarioName, Observation>>;
  /** Where this differs from what was expected, a line each. */
  surprises: string[];
}

/** A server of the matrix with what was seen of it. */
export interface MatrixRow {
  server: MatrixServer;
  report: ServerReport;
  /** Its packages come from the matrix's own folder. */
  extra: boolean;
}

/** Starts a server, runs all scenarios with these clients, one after the other, and stops it. */
export async function visitServer(
  stateful: MatrixServer,
  clients: ClientName[],
): Promise<ServerReport> {
  const report: ServerReport = { name: stateful.name, seen: new Map(), surprises: [] };
  if (stateful.unavailable !== undefined) return { ...report, unavailable: stateful.unavailable };
  const server = await stateful.start();
  let probed: string[] = [];
  try {
    if (stateful.refusals)
      report.refusals = await askRefusals(server, stateful.kind === "one session");
    probed = await probeSurprises(stateful, server.url);
    for (const client of clients)
      report.seen.set(client, await visitWithClient(stateful, server, client));
  } finally {
    await server.stop();
  }
  report.surprises = [...surprisesIn(stateful, report), ...probed];
  return report;
}

async function visitWithClient(
  stateful: MatrixServer,
  server: TestServer,
  client: ClientName,
): Promise<Map<ScenarioName, Observation>> {
  const proxy = await createFaultyProxy({ target: server.url });
  const visit: Visit = { stateful, server, proxy, client, snapshot: undefined };
  const seen = new Map<ScenarioName, Observation>();
  try {
    for (const name of scenarioNames) {
      const usable = name === "fresh" || seen.get("fresh")?.outcome.startsWith("worked");
      seen.set(name, usable ? await observe(name, visit) : notReached);
    }
  } finally {
    await proxy.close();
  }
  return seen;
}

const notReached: Observation = { outcome: "not reached", requests: 0, calls: 0 };

async function observe(name: ScenarioName, visit: Visit): Promise<Observation> {
  try {
    return await scenarios[name](visit);
  } catch (error) {
    visit.snapshot = undefined;
    const why = error instanceof Error ? error.message : String(error);
    return { outcome: `broken: ${why}`, requests: 0, calls: 0 };
  }
}

/** Asks with plain requests, so that the words are the server's own. */
async function askRefusals(
  server: TestServer,
  oneSession: boolean,
): Promise<NonNullable<ServerReport["refusals"]>> {
  const first = await openRawSession(server.url);
  if (first === undefined) throw new Error(`${server.name} gave no session`);
  const unknown = await listWith(server.url, neverGiven(first));
  const ending = await endSession(server.url, first);
  const ended = await listWith(server.url, first);
  if (oneSession) await server.restart();
  const second = await openRawSession(server.url);
  if (second === undefined) throw new Error(`${server.name} gave no second session`);
  await server.restart();
  const restarted = await listWith(server.url, second);
  return { unknown, ending, ended, restarted };
}

/** A line for everything that was seen and not expected, or expected and not seen. */
export function surprisesIn(stateful: MatrixServer, report: ServerReport): string[] {
  const surprises: string[] = [];
  const compare = (where: string, expected: string | undefined, seen: string) => {
    if (expected !== seen)
      surprises.push(`${stateful.name}, ${where}: expected ${expected}, saw ${seen}`);
  };
  if (report.refusals) {
    for (const which of ["unknown", "ended", "restarted"] as const)
      compare(`${which} id`, stateful.refusals?.[which], describeRefusal(report.refusals[which]));
  }
  if (!report.refusals && stateful.refusals)
    surprises.push(`${stateful.name}: its refusals were not asked`);
  for (const [client, scenariosSeen] of report.seen) {
    for (const [scenario, { outcome, requests }] of scenariosSeen) {
      compare(`${scenario}, ${client}`, expectedOutcome(stateful, scenario, client), outcome);
      // A resumed step that makes one call sends one request.
      if (scenario === "resumed" && outcome === "worked")
        compare(`requests when resumed, ${client}`, "1", String(requests));
    }
  }
  return surprises;
}
