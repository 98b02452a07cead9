import type { Principal } from "../../src/session/principal.ts";
import type { Random } from "./random.ts";

/** The waiting calls of one schedule. */
export interface WaitingPlan {
  readonly calls: readonly WaitingCallPlan[];
  readonly actors: readonly ActorPlan[];
  readonly faults: WaitingFaultRates;
  readonly onExpired: "fail" | "ask-again";
  /** How old questions may get, in virtual milliseconds. */
  readonly maxAgeMs: number;
  /** How long a step waits for a task or a slow answer, in virtual milliseconds. */
  readonly afterMs: number;
  /** When a call with a stream gets its record. */
  readonly record: "late" | "first";
  /** After how many turns the server forgets its sessions, if it does. */
  readonly forgetsAfter: number | undefined;
}

/** A call that its server answers with questions. */
export interface WaitingCallPlan {
  /** The model's id of the call, and its argument. */
  readonly nonce: string;
  readonly principal: Principal;
  /** Whether the tool may run twice. */
  readonly isSafe: boolean;
  /** What the server wants in each round: a person's answer, with or without a state, or only another request. */
  readonly rounds: readonly ("ask" | "ask without state" | "repeat")[];
  /** For how long the server takes a state, or waits for an answer on a stream, in virtual milliseconds. */
  readonly stateMs: number;
  /** How long each leg takes the server, in virtual milliseconds. */
  readonly workMs: number;
  /** For how long the server works if it makes a task of the call; it asks afterwards. `undefined` if it makes none. */
  readonly taskMs: number | undefined;
  /** How the server of a session answers the call; it asks on the stream. `undefined` for calls without a session. */
  readonly stream: StreamPlan | undefined;
}

interface StreamPlan {
  /** How long the server works before it asks or answers, in virtual milliseconds. */
  readonly workMs: number;
  /** Whether an event id comes at once. */
  readonly primes: boolean;
  /** Whether all questions come at once. */
  readonly asksAtOnce: boolean;
  /** Whether the answer is no stream. The server cannot ask then. */
  readonly isJson: boolean;
}

/** A process with one task at a time. */
export interface ActorPlan {
  readonly name: string;
  readonly kind: "step" | "person" | "looker" | "withdrawer" | "nosy";
  readonly principal: Principal;
  readonly startsAfter: number;
  /** How often it does its task. */
  readonly times: number;
  /** The pause before each time, in virtual milliseconds. */
  readonly pauseMs: number;
  /** The turn of its own at which it dies; `undefined` if it lives. */
  readonly diesAt: number | undefined;
  /** How far its clock is ahead, in milliseconds. */
  readonly clockAheadMs: number;
  /** After how many milliseconds it stops waiting for the server, if it does. */
  readonly leavesAfterMs: number | undefined;
}

/** How often each fault befalls an operation, from 0 to 1. */
export interface WaitingFaultRates {
  /** The server, or what stands before it, refuses a request, or there is no connection. */
  readonly refusedLeg: number;
  /** The connection breaks before or after the server worked, or a gateway gives up. */
  readonly brokenLeg: number;
  /** A stream breaks off at an event. */
  readonly brokenStream: number;
  /** The store fails before an operation. */
  readonly failedStore: number;
  /** The store fails after a write. */
  readonly failedWrite: number;
}

/** Joined with a separator, they are the same. */
const people: readonly Principal[] = [
  { type: "user", issuer: "idp", id: "a:b" },
  { type: "user", issuer: "idp:a", id: "b" },
];

const numbered = <T>(length: number, make: (nonce: string) => T, name: string): T[] =>
  Array.from({ length }, (_, index) => make(`${name}-${index + 1}`));

export function createWaitingPlan(random: Random): WaitingPlan {
  const rate = (most: number) => (random.chance(0.4) ? most * (0.3 + 0.7 * random.float()) : 0);
  const used = random.chance(0.3) ? people : people.slice(0, 1);
  const isSkewed = random.chance(0.2);
  const call = (nonce: string): WaitingCallPlan => ({
    nonce,
    principal: random.pick(used),
    isSafe: random.chance(0.25),
    rounds: Array.from({ length: 1 + random.below(3) }, () =>
      random.pick(["ask", "ask", "ask", "ask without state", "repeat"] as const),
    ),
    stateMs: random.pick([20_000, 600_000, 600_000, 600_000_000]),
    workMs: random.pick([0, 0, 0, 0, 5_000, 90_000]),
    taskMs: random.chance(0.4) ? random.pick([0, 3_000, 25_000]) : undefined,
    stream: undefined,
  });
  const streamCall = (nonce: string): WaitingCallPlan => {
    const isJson = random.chance(0.1);
    const stream = {
      workMs: random.pick([0, 500, 3_000, 25_000]),
      primes: random.chance(0.8),
      asksAtOnce: random.chance(0.3),
      isJson,
    };
    const rounds = Array.from({ length: isJson ? 0 : random.below(4) }, () => "ask" as const);
    return {
      ...call(nonce),
      rounds,
      stateMs: random.pick([20_000, 600_000]),
      taskMs: undefined,
      stream,
    };
  };
  const actor = (name: string, kind: ActorPlan["kind"]): ActorPlan => ({
    name,
    kind,
    principal: random.pick(used),
    startsAfter: random.below(20),
    times: 1 + random.below(3),
    pauseMs: random.pick([0, 0, 0, 500, 30_000, 70_000]),
    diesAt: random.chance(0.25) ? random.below(12) : undefined,
    clockAheadMs: isSkewed ? random.pick([0, -40_000, 40_000, 100_000]) : 0,
    leavesAfterMs: random.chance(0.1) ? random.pick([100, 10_000]) : undefined,
  });
  const others = Array.from({ length: random.below(3) }, () =>
    random.pick(["step", "person", "looker", "withdrawer", "nosy"] as const),
  );
  const kinds = ["step", "person", "person", "looker", ...others] as const;
  const hasStreams = random.chance(0.5);
  const calls = numbered(hasStreams ? random.below(3) : 1 + random.below(2), call, "call");
  return {
    calls: [...calls, ...numbered(hasStreams ? 1 + random.below(2) : 0, streamCall, "stream")],
    actors: kinds.map((kind, index) => actor(`w${index + 1}`, kind)),
    faults: {
      refusedLeg: rate(0.3),
      brokenLeg: rate(0.2),
      brokenStream: rate(0.5),
      failedStore: rate(0.1),
      failedWrite: rate(0.1),
    },
    onExpired: random.pick(["fail", "fail", "ask-again"] as const),
    maxAgeMs: random.pick([50_000, 604_800_000, 604_800_000]),
    afterMs: random.pick([0, 2_500, 20_000]),
    record: random.pick(["late", "first"] as const),
    forgetsAfter: random.chance(0.15) ? random.below(80) : undefined,
  };
}
