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
  { name: "300 B", bytes: 300, serverMs: 5, inFlights: [1], callsPerRound: 16, warmUpRounds: 40 },
  {
    name: "1 MB",
    bytes: 1_000_000,
    serverMs: 0,
    inFlights: [1, 8],
    callsPerRound: 8,
    warmUpRounds: 10,
  },
] as const;
const framings = ["json", "sse"] as const;
/** Milliseconds that a call may add, at 5 ms of server time. */
const maxAddedMs = 0.25;
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
  readonly inFlight: number;
}

const cases: readonly CallCase[] = callerNames.flatMap((caller) =>
  answers.flatMap((answer) =>
    framings.flatMap((framing) =>
      answer.inFlights.map((inFlight) => ({ caller, framing, answer, inFlight })),
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
    for (const each of cases) {
      const pair = await createPair(server.origin, each);
      const plan = planFor(each, rounds);
      const ratio = await measureRounds(pair, plan);
      const label = labelOf(each);
      const measured = { ...namesOf(each), ...ratio, target: plan.target };
      if (plan.measure === "time") ratios.push(measured);
      else counts.push(addedBy(measured));
      const isSmallFetch = each.caller === "fetch + text()" && each.answer.bytes === 300;
      if (isSmallFetch && verdictOf(measured) !== "met") {
        tables.push(await profileTable(pair, plan, label));
      }
      if (isSmallFetch) counts.push(await countAllocation(pair, label));
    }
    return {
      id: "calls",
      title: "A call: the session fetch beside a plain fetch",
      ...{ ratios, counts, tables },
      notes: [
        "The server runs in a process of its own. Each round times both fetches, in an order that changes from round to round. For 300 bytes the server answers after 5 ms, and what counts is the milliseconds that a call adds, the median of the rounds with its bounds of 95 %. This measure replaces the targets for calls per second at 0 ms: it is what a user of a server waits for, and it does not depend on how fast a server is that does nothing. For 1 MB it is the ratio of the times. There the session fetch decodes and parses the answer before it counts (0.6 and 0.8 ms of the 2.1 ms that it adds), because an answer that its client cannot use is an outcome that nobody knows.",
        "Where a small call through `fetch + text()` misses its target, the profile of the session fetch shows where its time goes. `post node:inspector` in it is the profiler itself. What the parts cost apart from each other is on the page [What a call costs](../decisions/2026-11-23-what-a-call-costs.md).",
      ],
    };
  } finally {
    server.stop();
  }
}

async function createPair(origin: string, each: CallCase): Promise<CallPair> {
  const url = `${origin}/${each.framing}/${each.answer.bytes}/${each.answer.serverMs}`;
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

function planFor({ answer, inFlight }: CallCase, rounds?: number): RoundPlan {
  const isSmall = answer.bytes === 300;
  return {
    measure: isSmall ? "added ms" : "time",
    target: { atMost: isSmall ? maxAddedMs : 1.05 },
    ...{ inFlight, callsPerRound: answer.callsPerRound, warmUpRounds: answer.warmUpRounds },
    rounds: rounds === undefined ? { min: 80, max: 400 } : { min: rounds, max: rounds },
  };
}

function namesOf({ caller, framing, answer, inFlight }: CallCase) {
  return {
    group: answer.bytes === 300 ? "300 B: milliseconds that a call adds" : "1 MB: time",
    label: `${caller}, ${framing.toUpperCase()}, ${inFlight} in flight`,
  };
}

/** The median as a count. Undecided counts as missed: then it is the upper bound that the target is held against. */
function addedBy({
  group = "",
  label,
  ...ratio
}: BenchRatio & Pick<RoundPlan, "target">): BenchCount {
  const [ms, low, high] = [ratio.ratio, ratio.low, ratio.high].map((each) => each.toFixed(3));
  const isOpen = verdictOf(ratio) === "open";
  const value = Number(isOpen ? high : ms);
  return {
    group,
    label: `${label} (${ms}; ${low} to ${high})`,
    value,
    unit: "ms",
    target: ratio.target,
  };
}

function labelOf({ caller, framing, answer, inFlight }: CallCase): string {
  return `${caller}, ${framing.toUpperCase()}, ${answer.name}, ${inFlight} in flight`;
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
