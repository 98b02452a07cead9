import { medianRatio, verdictOf } from "../report/ratio.ts";
import type { Caller } from "./callers.ts";

/** The same call with a plain fetch and with a session fetch. */
export interface CallPair {
  readonly plain: Caller;
  readonly session: Caller;
}

export interface RoundPlan {
  /** Of milliseconds that a call adds, or of time as a multiple of the plain fetch's. */
  readonly measure: "added ms" | "time";
  readonly target: { readonly atMost: number };
  readonly inFlight: number;
  readonly callsPerRound: number;
  readonly warmUpRounds: number;
  /** Rounds without which nothing is decided, and after which nothing more is tried. */
  readonly rounds: { readonly min: number; readonly max: number };
}

/** Times of a round, in milliseconds. */
interface Times {
  readonly plain: number[];
  readonly session: number[];
}

/**
 * Times both calls in each round, in an order that changes from round to round, so that whatever else the machine does
 * meets both alike. It goes on until the bounds decide about the target.
 */
export async function measureRounds(pair: CallPair, plan: RoundPlan) {
  const { target, rounds } = plan;
  for (let round = 0; round < plan.warmUpRounds; round += 1) await timeRound(pair, plan, round);
  const times: Times = { plain: [], session: [] };
  for (;;) {
    const round = times.plain.length;
    const { plain, session } = await timeRound(pair, plan, round);
    times.plain.push(plain);
    times.session.push(session);
    if (round + 1 < rounds.min || (round + 1 - rounds.min) % 20 !== 0) continue;
    const added = times.session.map((ms, at) => (ms - times.plain[at]!) / plan.callsPerRound);
    const isAdded = plan.measure === "added ms";
    const ratio = isAdded
      ? medianRatio(
          added,
          added.map(() => 1),
        )
      : medianRatio(times.session, times.plain);
    if (round + 1 < rounds.max && verdictOf({ ...ratio, target }) === "open") continue;
    return ratio;
  }
}

async function timeRound(pair: CallPair, plan: RoundPlan, round: number) {
  const times = { plain: 0, session: 0 };
  const order = ["plain", "session"] as const;
  for (const name of round % 2 === 0 ? order : order.toReversed()) {
    const start = performance.now();
    await callManyTimes(pair[name], plan);
    times[name] = performance.now() - start;
  }
  return times;
}

/** `callsPerRound` calls, `inFlight` of them at a time. */
export async function callManyTimes(
  call: Caller,
  { callsPerRound, inFlight }: Pick<RoundPlan, "callsPerRound" | "inFlight">,
): Promise<void> {
  const callInTurn = async () => {
    for (let n = 0; n < callsPerRound / inFlight; n += 1) await call();
  };
  await Promise.all(Array.from({ length: inFlight }, callInTurn));
}
