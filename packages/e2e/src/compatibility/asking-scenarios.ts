import type { FaultyProxy, SeenRequest } from "@durable-mcp/testing";
import { join } from "node:path";
import type { InputResponses } from "@durable-mcp/core/waiting";
import type { LegClientName } from "../conformance/any-client.ts";
import { startModule } from "../processes/start-module.ts";
import type { TestServer } from "../servers/server-process.ts";
import {
  type AskingEnd,
  type AskingLegs,
  type AskingScenario,
  askingScenarios,
} from "./asking-protocol.ts";
import type { AskingMatrixServer } from "./asking-servers.ts";

/** What one scenario showed with one server, in one way. */
export interface AskingObservation {
  /** In the words of `expectedAnswer`; anything else says what went wrong. */
  outcome: string;
  /**
   * HTTP requests of the answer, a number each round; those with which the ai-sdk connection then puts the result
   * into the messages follow a plus.
   */
  requests: string[];
}

/** Two servers of a kind: the states of the hasty one are soon too old. */
export interface AskingVisit {
  asking: AskingMatrixServer;
  server: TestServer;
  proxy: FaultyProxy;
  hasty: FaultyProxy;
  /** Of the stores. */
  folder: string;
}

export type AskingSeen = Map<LegClientName, Map<AskingScenario, AskingObservation>>;

/** How long the hasty server's states are good for. */
export const hastySeconds = 1;
/** Longer than that, with the second by which the SDK's codec may be late. */
const untilExpiredMs = 2_500;

/** One process asks, in all scenarios; others answer. The server is restarted once. */
export async function observeAnswers(
  visit: AskingVisit,
  ways: readonly LegClientName[],
): Promise<AskingSeen> {
  const seen: AskingSeen = new Map();
  const { answers } = visit.asking;
  for (const way of ways) {
    const ids = await ask(visit, way);
    const rounds = answers.map((answer) => [answer]);
    const ofWay = new Map<AskingScenario, AskingObservation>();
    ofWay.set("answered", await answerIn(visit, way, "answered", rounds));
    ofWay.set("two answers at once", await twoAtOnce(visit, way, ids.get("two answers at once")));
    seen.set(way, ofWay);
  }
  await visit.server.restart();
  await new Promise((resolve) => setTimeout(resolve, untilExpiredMs));
  for (const way of ways)
    for (const scenario of ["server restarted", "state expired"] as const)
      seen.get(way)?.set(scenario, await answerIn(visit, way, scenario, [answers]));
  return seen;
}

async function ask(visit: AskingVisit, way: LegClientName) {
  const { name, args } = visit.asking;
  const legs = askingScenarios.map((scenario) => ({ ...legOf(visit, way, scenario), args }));
  const ends = await (await startProcess({ way, legs }))();
  const failed = ends.find(({ outcome }) => outcome !== "waiting");
  if (failed !== undefined) throw new Error(`${name} did not ask: ${failed.outcome}`);
  return new Map(askingScenarios.map((scenario, index) => [scenario, ends[index]?.id]));
}

/** Answers a call, in a process for each of these. */
async function answerIn(
  visit: AskingVisit,
  way: LegClientName,
  scenario: AskingScenario,
  processes: InputResponses[][],
): Promise<AskingObservation> {
  const leg = legOf(visit, way, scenario);
  const requests: string[] = [];
  let outcome = "";
  for (const answers of processes) {
    takeRequests(visit);
    const [end] = await (await startProcess({ way, legs: [{ ...leg, answers }] }))();
    outcome = end?.outcome ?? "broken: no report";
    requests.push(...countLegs(takeRequests(visit)));
    if (outcome !== "waiting") break;
  }
  const works = outcome.includes(visit.asking.expected);
  return { outcome: works ? "worked" : outcome, requests };
}

async function twoAtOnce(
  visit: AskingVisit,
  way: LegClientName,
  id: string | undefined,
): Promise<AskingObservation> {
  const leg = { ...legOf(visit, way, "two answers at once"), ...(id !== undefined && { id }) };
  const legs = [{ ...leg, answers: visit.asking.answers.slice(0, 1) }];
  const ready = await Promise.all([startProcess({ way, legs }), startProcess({ way, legs })]);
  takeRequests(visit);
  const ends = (await Promise.all(ready.map((go) => go()))).flat();
  const outcomes = ends.map(({ outcome }) =>
    outcome.includes(visit.asking.expected) ? "worked" : outcome,
  );
  const sent = takeRequests(visit).filter(isCall).length;
  // A process that is slower finds the next question, which its answer does not fit.
  const rest = outcomes.filter((outcome) => !["NOT_WAITING", "INPUT_INVALID"].includes(outcome));
  const isOne = sent === 1 && rest.length === 1 && /^(?:worked|waiting)$/.test(rest[0]!);
  const outcome = isOne ? "one leg" : `${sent} legs: ${outcomes.toSorted().join(" and ")}`;
  return { outcome, requests: [] };
}

/** What every process of a scenario is told. The scenario has a store of its own. */
function legOf({ proxy, hasty, folder, asking }: AskingVisit, way: string, scenario: string) {
  const { url } = scenario === "state expired" ? hasty : proxy;
  const storePath = join(folder, `${way}-${scenario.replaceAll(" ", "-")}.db`);
  return { url, storePath, tool: asking.tool };
}

/** A process that is ready. What it gives lets it go, and resolves to how its legs ended. */
async function startProcess(input: AskingLegs): Promise<() => Promise<AskingEnd[]>> {
  const program = new URL("asking-program.ts", import.meta.url);
  const step = await startModule<AskingLegs, AskingEnd[]>(program, { input });
  return async () => (await step.finish()).output;
}

function takeRequests({ proxy, hasty }: AskingVisit): SeenRequest[] {
  return [...proxy.requests.splice(0), ...hasty.requests.splice(0)];
}

const isCall = ({ rpcMethod }: SeenRequest) => rpcMethod === "tools/call";

/** The requests up to each leg, and what came after the last one. */
function countLegs(requests: readonly SeenRequest[]): string[] {
  const ends = requests.flatMap((request, index) => (isCall(request) ? [index + 1] : []));
  const last = ends.at(-1) ?? 0;
  const counts = ends.map((end, index) => String(end - (ends[index - 1] ?? 0)));
  const after = requests.length - last;
  return after === 0 ? counts : [...counts.slice(0, -1), `${counts.at(-1) ?? "0"} + ${after}`];
}
