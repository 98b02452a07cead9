import type { Act, FaultyProxy, SeenRequest } from "@durable-mcp/testing";
import { wrongAnswers } from "../stateful/call-outcomes.ts";
import type { ClientName } from "../clients/index.ts";
import { overlappingCalls } from "../stateful/overlapping-calls.ts";
import { runStep, runStepsAtOnce } from "../steps/run-step.ts";
import type { FixtureServer } from "../servers/fixture-server.ts";
import type { TestServer } from "../servers/server-process.ts";
import { sessionIdOf } from "../steps/session-id-canary.ts";
import type { ExpectedCall } from "../stateful/stateful-servers.ts";
import type { StepError, StepRun } from "../steps/step-protocol.ts";
import type { MatrixServer, ScenarioName } from "./matrix-server.ts";
import { endSession, neverGiven } from "./refusal.ts";

/** What one scenario showed with one server and one client. */
export interface Observation {
  /** In the words of `expectedOutcome`; anything else says what went wrong. */
  outcome: string;
  /** HTTP requests of the step or steps that the scenario is about. */
  requests: number;
  /** The tool calls among all those requests, and those that were to be made. */
  calls: number;
  /** How far the answer had come when the server was killed. */
  interrupted?: "before its headers" | "after its headers" | "withheld by the proxy";
  /** What was seen on the way, where it is worth a word. */
  detail?: string;
}

/** One client's turn with one server; every step is a process of its own. */
export interface Visit {
  stateful: MatrixServer;
  server: TestServer | FixtureServer;
  proxy: FaultyProxy;
  client: ClientName;
  /** What the last step left that ended well. */
  snapshot: unknown;
}

const callsAtOnce = 10;
/** The database of mcp-cron alone lets one of 20 calls at once wait for 17 s. */
const callAtOnceMs = 35_000;
const slowCallMs = 10_000;
const waitForToolMs = 300;

export const scenarios: Record<ScenarioName, (visit: Visit) => Promise<Observation>> = {
  fresh: async (visit) => {
    if (visit.stateful.kind === "one session") await visit.server.restart();
    const calls = visit.stateful.makeState(tagOf(visit));
    return step(visit, undefined, calls);
  },

  resumed: async (visit) => {
    const snapshot = await live(visit);
    return step(visit, snapshot, [visit.stateful.seeState(tagOf(visit))[0]]);
  },

  "two at once": async (visit) => {
    const { stateful, proxy, client } = visit;
    const snapshot = await live(visit);
    const plans = ["left", "right"].map((tag) => overlappingCalls(stateful, tag, callsAtOnce));
    const input = {
      ...{ client, url: proxy.url, list: true, snapshot, overlapping: true },
      callTimeoutMs: callAtOnceMs,
    };
    const runs = await runStepsAtOnce(plans.map((calls) => ({ ...input, calls })));
    const requests = proxy.requests.splice(0);
    const outcomes = runs.map((run, index) =>
      outcomeOf(run, plans[index] ?? [], snapshot, requests),
    );
    const outcome = outcomes.find((each) => !each.startsWith("worked")) ?? outcomes[0] ?? "";
    return { outcome, requests: requests.length, calls: toolCalls(requests) };
  },

  "id unknown": async (visit) => {
    const snapshot = await live(visit);
    const id = sessionIdOf(snapshot);
    const unknown = id === undefined ? {} : { sessionId: neverGiven(id) };
    return noticed(await step(visit, { ...(snapshot as object), ...unknown }, [oneCall(visit)]));
  },

  "ended by someone else": async (visit) => {
    const snapshot = await live(visit);
    const id = sessionIdOf(snapshot);
    const status = id === undefined ? undefined : await endSession(visit.server.url, id);
    const seen = await step(visit, snapshot, [oneCall(visit)]);
    if (status === undefined) return seen;
    return { ...(status < 300 ? noticed(seen) : seen), detail: `DELETE: ${status}` };
  },

  "server restarted": async (visit) => {
    const snapshot = await live(visit);
    await visit.server.restart();
    return noticed(await step(visit, snapshot, [oneCall(visit)]));
  },

  "killed before the answer": async (visit) => {
    const { client, proxy, server, stateful } = visit;
    const snapshot = await live(visit);
    const text = `killed-${tagOf(visit)}`;
    const call = stateful.slowCall?.(text, 1, slowCallMs) ?? stateful.independentCall(text, 1);
    const isCall = (request: SeenRequest) => request.tool === call.tool;
    // A server without a slow tool answers, and the answer is lost with the server.
    const held = stateful.slowCall ? undefined : proxy.holdAnswer({ on: isCall });
    const came = Promise.withResolvers<void>();
    const passOn: Act = ({ carryOut }) => {
      came.resolve();
      return carryOut();
    };
    if (!held) proxy.meet(passOn, { on: isCall, times: 1 });
    const sent = held?.reached ?? came.promise;
    const running = runStep({ client, url: proxy.url, list: true, snapshot, calls: [call] });
    // A step that fails before its call ends by itself.
    await Promise.race([sent, running]);
    if (!held) await new Promise((resolve) => setTimeout(resolve, waitForToolMs));
    const answered = proxy.requests.find(isCall)?.status !== undefined;
    const interrupted = answered ? "after its headers" : "before its headers";
    await server.kill();
    held?.drop();
    await server.restart();
    const run = await running;
    const requests = proxy.requests.splice(0);
    const calls = toolCalls(requests);
    const first = outcomeOf(run, [call], snapshot, requests);
    const runs = "runs" in server && stateful.slowCall ? server.runs(text) : undefined;
    const next = await step(visit, run.snapshot, [oneCall(visit)]);
    const twice = calls > 1 ? `, sent ${calls} times` : "";
    const ran = runs === undefined || runs === 1 ? "" : `, ran ${runs} times`;
    return {
      outcome: `${first}${twice}${ran}, then ${next.outcome}`,
      requests: requests.length,
      calls,
      interrupted: held ? "withheld by the proxy" : interrupted,
      ...(runs !== undefined && { detail: `runs of the tool that the server counted: ${runs}` }),
    };
  },
};

/** A server that goes on under a dead id hides the loss. */
function noticed(seen: Observation): Observation {
  return seen.outcome === "worked" ? { ...seen, outcome: "loss not visible" } : seen;
}

/** Runs one step; a snapshot that came to a good end is kept for the next scenario. */
async function step(visit: Visit, snapshot: unknown, calls: ExpectedCall[]): Promise<Observation> {
  const { client, proxy } = visit;
  proxy.requests.splice(0);
  const run = await runStep({ client, url: proxy.url, list: true, snapshot, calls });
  const requests = proxy.requests.splice(0);
  const outcome = outcomeOf(run, calls, snapshot, requests);
  visit.snapshot = /^(worked|recovered)/.test(outcome) ? run.snapshot : undefined;
  return { outcome, requests: requests.length, calls: toolCalls(requests) };
}

/** A snapshot that the server takes; a fresh session when the last scenario left none. */
async function live(visit: Visit): Promise<unknown> {
  if (visit.snapshot === undefined) {
    const { outcome } = await scenarios.fresh(visit);
    if (!outcome.startsWith("worked")) throw new Error(`no session to start from: ${outcome}`);
  }
  visit.proxy.requests.splice(0);
  return visit.snapshot;
}

function outcomeOf(
  run: StepRun,
  calls: ExpectedCall[],
  before: unknown,
  requests: SeenRequest[],
): string {
  const failed = run.error ?? run.results.find((result) => result.error)?.error;
  if (failed) return nameOf(failed, requests);
  const [wrong] = wrongAnswers(calls, run.results);
  if (wrong !== undefined) return `broken: ${wrong}`;
  const id = sessionIdOf(run.snapshot);
  if (id === undefined) return "worked, no session";
  const initializes = requests.filter((request) => request.rpcMethod === "initialize").length;
  if (initializes > 1) return `broken: initialize was sent ${initializes} times`;
  return before === undefined || id === sessionIdOf(before) ? "worked" : "recovered";
}

/** Our code, the HTTP status, or what else tells this failure from others in every client. */
function nameOf(error: StepError, requests: SeenRequest[]): string {
  if (error.sessionCode !== undefined) return error.sessionCode;
  if (/no usable answer to initialize/.test(error.message)) return "no usable answer to initialize";
  // The session fetch asks with a ping whether such a refusal concerns the session.
  const status = requests.findLast(({ rpcMethod }) => rpcMethod !== "ping")?.status;
  if (status !== undefined && status >= 400) return `HTTP ${status}`;
  return `broken: ${error.name}: ${error.message.slice(0, 160)}`;
}

const oneCall = (visit: Visit) => visit.stateful.independentCall(`one-${tagOf(visit)}`, 1);

/** Letters and digits only: it goes into URLs, names and texts. */
const tagOf = ({ client }: Visit) => client.replaceAll(/[^a-z0-9]/g, "");

const toolCalls = (requests: SeenRequest[]) =>
  requests.filter((request) => request.rpcMethod === "tools/call").length;
