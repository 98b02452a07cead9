import { forkServer } from "../fork-server.ts";
import type {
  BenchCount,
  BenchOptions,
  BenchPart,
  BenchRatio,
  BenchTable,
} from "../report/part.ts";
import { verdictOf } from "../report/ratio.ts";
import { type CallerName, callerNames, createCaller, createResumedFetch } from "./callers.ts";
import { type CallPair, callManyTimes, measureRounds, type RoundPlan } from "./call-rounds.ts";
import { allocationPerCall, profileSelfTimes } from "./inspector.ts";

const answers = [
  { name: "300 B", bytes: 300, callsPerRound: 64, warmUpRounds: 40 },
  { name: "1 MB", bytes: 1_000_000, callsPerRound: 8, warmUpRounds: 10 },
] as const;
const framings = ["json", "sse"] as const;
const inFlights = [1, 8] as const;
/** More kilobytes than a plain fetch's call. */
const maxExtraAllocation = 8;
const allocationCalls = 1_000;
const profiledCalls = 2_000;
const shownSelfTimes = 20;

/** One call of one caller: what is answered, and how many are under way. */
interface CallCase {
  readonly caller: CallerName;
  readonly framing: (typeof framings)[number];
  readonly answer: (typeof answers)[number];
  readonly inFlight: (typeof inFlights)[number];
}

const cases: readonly CallCase[] = callerNames.flatMap((caller) =>
  answers.flatMap((answer) =>
    framings.flatMap((framing) =>
      inFlights.map((inFlight) => ({ caller, framing, answer, inFlight })),
    ),
  ),
);

/** What a call through a session fetch costs beside the same call with a plain fetch. */
export async function measureCalls({ rounds }: BenchOptions): Promise<BenchPart> {
  const server = await forkServer(new URL("answering-server.ts", import.meta.url));
  try {
    const ratios: BenchRatio[] = [];
    const counts: BenchCount[] = [];
    const tables: BenchTable[] = [];
    const speeds: (string | number)[][] = [];
    for (const each of cases) {
      const pair = await createPair(server.origin, each);
      const plan = planFor(each, rounds);
      const { plainMs, sessionMs, ...ratio } = await measureRounds(pair, plan);
      const label = labelOf(each);
      const measured = { ...namesOf(each), ...ratio, target: plan.target };
      ratios.push(measured);
      speeds.push([label, ...[plainMs, sessionMs].map((ms) => perSecond(plan, ms))]);
      const isSmallFetch = each.caller === "fetch + text()" && each.answer.bytes === 300;
      if (isSmallFetch && verdictOf(measured) !== "met") {
        tables.push(await profileTable(pair, plan, label));
      }
      if (isSmallFetch && each.inFlight === 1) counts.push(await countAllocation(pair, label));
    }
    tables.unshift({
      title: "Calls per second",
      columns: ["call", "plain fetch", "session fetch"],
      rows: speeds,
    });
    return {
      id: "calls",
      title: "A call: the session fetch beside a plain fetch",
      ...{ ratios, counts, tables },
      notes: [
        "The server runs in a process of its own. Each round times both fetches, in an order that changes from round to round. A ratio is the median of the rounds' ratios. For 300 bytes it compares calls per second, for 1 MB the time.",
        "Where a small call through `fetch + text()` misses its target, the profile of the session fetch shows where its time goes. `post node:inspector` in it is the profiler itself. What the parts cost apart from each other is on the page [What a call costs](../decisions/2026-11-23-what-a-call-costs.md).",
      ],
    };
  } finally {
    server.stop();
  }
}

async function createPair(origin: string, each: CallCase): Promise<CallPair> {
  const url = `${origin}/${each.framing}/${each.answer.bytes}`;
  const create = createCaller[each.caller];
  const pair = {
    plain: await create(url, globalThis.fetch),
    session: await create(url, createResumedFetch(url)),
  };
  // The clients' ids differ, and nothing else may.
  const [plain, session] = [await pair.plain(), await pair.session()].map(withoutId);
  if (plain !== session) throw new Error(`${labelOf(each)}: the two answers differ.`);
  return pair;
}

function withoutId(answer: unknown): string {
  const text = typeof answer === "string" ? answer : JSON.stringify(answer);
  return text.replace(/"id":\d+\}\s*$/, "");
}

function planFor({ caller, framing, answer, inFlight }: CallCase, rounds?: number): RoundPlan {
  const atLeast = caller === "fetch + text()" ? { json: 0.9, sse: 0.85 }[framing] : 0.95;
  return {
    target: answer.bytes === 300 ? { atLeast } : { atMost: 1.05 },
    ...{ inFlight, callsPerRound: answer.callsPerRound, warmUpRounds: answer.warmUpRounds },
    rounds: rounds === undefined ? { min: 80, max: 400 } : { min: rounds, max: rounds },
  };
}

/** Its place in the chart, where more calls and less time are different things. */
function namesOf({ caller, framing, answer, inFlight }: CallCase) {
  return {
    group:
      answer.bytes === 300
        ? "300 B: calls per second, higher is better"
        : "1 MB: time, lower is better",
    label: `${caller}, ${framing.toUpperCase()}, ${inFlight} in flight`,
  };
}

function labelOf({ caller, framing, answer, inFlight }: CallCase): string {
  return `${caller}, ${framing.toUpperCase()}, ${answer.name}, ${inFlight} in flight`;
}

function perSecond({ callsPerRound }: RoundPlan, roundMs: number): number {
  return Math.round((callsPerRound / roundMs) * 1_000);
}

/** Kilobytes that the session fetch allocates for a call beside those of a plain fetch. */
async function countAllocation({ plain, session }: CallPair, label: string): Promise<BenchCount> {
  const before = await allocationPerCall(plain, allocationCalls);
  const extra = (await allocationPerCall(session, allocationCalls)) - before;
  return {
    label: `${label}: allocated beside the ${before.toFixed(1)} KB of a plain fetch`,
    value: Number(extra.toFixed(1)),
    unit: "KB",
    target: { atMost: maxExtraAllocation },
  };
}

async function profileTable(
  { session }: CallPair,
  plan: RoundPlan,
  label: string,
): Promise<BenchTable> {
  const selfTimes = await profileSelfTimes(() =>
    callManyTimes(session, { ...plan, callsPerRound: profiledCalls }),
  );
  return {
    title: `CPU profile of the session fetch: ${label}`,
    columns: ["function", "self time, %"],
    rows: selfTimes
      .slice(0, shownSelfTimes)
      .map(({ place, share }) => [place, Number((share * 100).toFixed(1))]),
  };
}
