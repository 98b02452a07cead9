import type { Invariant } from "./invariant-model.ts";
import type { Parts } from "./parts.ts";
import type { ClientPlan, FaultRates, Plan, ProcessPlan } from "./plan.ts";
import { runPlan } from "./run-plan.ts";
import type { ActorPlan, WaitingPlan } from "./waiting-plan.ts";

/** How many smaller plans are tried. */
const maxRuns = 2_000;
/** In how many orders each. With less in it, a plan's own seed gives another order too. */
const orders = 6;

/** Makes a failing plan smaller, as long as it still breaks `invariant`. */
export async function shrinkPlan(plan: Plan, invariant: Invariant, parts: Parts): Promise<Plan> {
  let smallest = plan;
  let runs = 0;
  const findSmaller = async () => {
    for (let order = 0; order < orders; order += 1) {
      for (const smaller of smallerPlans(smallest)) {
        runs += 1;
        if (runs > maxRuns) return undefined;
        const candidate = { ...smaller, seed: smallest.seed + order };
        const { violations } = await runPlan(candidate, parts, invariant);
        if (violations.some((violation) => violation.invariant === invariant)) return candidate;
      }
    }
    return undefined;
  };
  for (let smaller = await findSmaller(); smaller; smaller = await findSmaller())
    smallest = smaller;
  return smallest;
}

/** Each plan with one thing less. */
function* smallerPlans(plan: Plan): Generator<Plan> {
  for (const processes of withoutOne(plan.processes)) yield { ...plan, processes };
  for (const disturbances of withoutOne(plan.disturbances)) yield { ...plan, disturbances };
  for (const name of Object.keys(plan.faults) as (keyof FaultRates)[]) {
    if (plan.faults[name] > 0) yield { ...plan, faults: { ...plan.faults, [name]: 0 } };
  }
  for (const processes of withOneSmaller(plan.processes, smallerProcesses))
    yield { ...plan, processes };
  for (const waiting of smallerWaiting(plan.waiting)) yield { ...plan, waiting };
}

function* smallerWaiting(waiting: WaitingPlan): Generator<WaitingPlan> {
  for (const actors of withoutOne(waiting.actors)) yield { ...waiting, actors };
  for (const calls of withoutOne(waiting.calls)) yield { ...waiting, calls };
  for (const name of Object.keys(waiting.faults) as (keyof WaitingPlan["faults"])[]) {
    if (waiting.faults[name] > 0) yield { ...waiting, faults: { ...waiting.faults, [name]: 0 } };
  }
  if (waiting.forgetsAfter !== undefined) yield { ...waiting, forgetsAfter: undefined };
  for (const actors of withOneSmaller(waiting.actors, smallerActors)) yield { ...waiting, actors };
  for (const calls of withOneSmaller(waiting.calls, ({ rounds, ...call }) =>
    [...withoutOne(rounds)].map((fewer) => ({ ...call, rounds: fewer })),
  ))
    yield { ...waiting, calls };
}

function* smallerActors(actor: ActorPlan): Generator<ActorPlan> {
  if (actor.times > 1) yield { ...actor, times: actor.times - 1 };
  if (actor.pauseMs > 0) yield { ...actor, pauseMs: 0 };
  if (actor.diesAt !== undefined) yield { ...actor, diesAt: undefined };
  if (actor.clockAheadMs !== 0) yield { ...actor, clockAheadMs: 0 };
  if (actor.leavesAfterMs !== undefined) yield { ...actor, leavesAfterMs: undefined };
}

function* smallerProcesses(process: ProcessPlan): Generator<ProcessPlan> {
  for (const clients of withoutOne(process.clients)) yield { ...process, clients };
  if (process.onLoss !== "replace") yield { ...process, onLoss: "replace" };
  if (process.hasStartHook) yield { ...process, hasStartHook: false };
  if (process.timeoutMs !== undefined) yield { ...process, timeoutMs: undefined };
  if (process.startsAfter > 0) yield { ...process, startsAfter: 0 };
  for (const clients of withOneSmaller(process.clients, smallerClients))
    yield { ...process, clients };
}

function* smallerClients(client: ClientPlan): Generator<ClientPlan> {
  for (const operations of withoutOne(client.operations)) yield { ...client, operations };
  if (client.handshake !== "none") yield { ...client, handshake: "none" };
  if (client.abortsHandshakeAfter !== undefined)
    yield { ...client, abortsHandshakeAfter: undefined };
  if (client.hasOwnFetch) yield { ...client, hasOwnFetch: false };
}

function* withoutOne<T>(items: readonly T[]): Generator<T[]> {
  for (const index of items.keys()) yield items.toSpliced(index, 1);
}

function* withOneSmaller<T>(
  items: readonly T[],
  smaller: (item: T) => Iterable<T>,
): Generator<T[]> {
  for (const [index, item] of items.entries()) {
    for (const candidate of smaller(item)) yield items.with(index, candidate);
  }
}
