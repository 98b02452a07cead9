import type { Principal } from "../../src/session/principal.ts";
import type { LossPolicy, ResendPolicy } from "../../src/session/session-fetch-options.ts";
import { createRandom } from "./random.ts";
import { createWaitingPlan, type WaitingPlan } from "./waiting-plan.ts";

/** What happens in one schedule, apart from the order: plain data, so that it can be made smaller. */
export interface Plan {
  readonly seed: number;
  readonly savePoint: "none" | "plain" | "compare-and-set";
  /** Whether the network heeds abort signals; some fetches do not. */
  readonly heedsSignals: boolean;
  readonly faults: FaultRates;
  readonly processes: readonly ProcessPlan[];
  readonly disturbances: readonly Disturbance[];
  /** The calls that wait for a person: a world of their own. */
  readonly waiting: WaitingPlan;
}

/** How often each fault befalls a request that it can befall, from 0 to 1. */
export interface FaultRates {
  /** The connection breaks, before or after the server worked. */
  readonly network: number;
  /** A 502, 503 or 504, before or after the server worked. */
  readonly outage: number;
  /** The answer to `initialize` or to a listing breaks off after its headers. */
  readonly cut: number;
  readonly unauthorized: number;
  /** A redirect to another origin. */
  readonly redirect: number;
  /** The session is forgotten just before a request of it arrives. */
  readonly forget: number;
  /** The server works, then something before it answers that the session has expired. */
  readonly probableAfterwards: number;
  /** What stands before the server answers 404 in its place. */
  readonly notFound: number;
  /** An answer stream breaks, at any event. */
  readonly breakStream: number;
  /** A JSON answer is cut off. */
  readonly truncate: number;
  /** An answer comes twice. */
  readonly duplicate: number;
  /** An answer to an id that nobody asked with. */
  readonly stray: number;
  /** An answer comes on the stream of another request first. */
  readonly misroute: number;
  /** `initialize` or `initialized` takes many turns. */
  readonly slowHandshake: number;
  /** The store fails at the save point. */
  readonly store: number;
}

/** One step of an agent session: a slot, made from what is saved when it starts. */
export interface ProcessPlan {
  readonly name: string;
  readonly connection: string;
  /** Whether this process was deployed with another URL for the connection. */
  readonly isMoved: boolean;
  readonly principal: Principal;
  /** How many turns after the beginning it starts. */
  readonly startsAfter: number;
  readonly resend: ResendPolicy;
  readonly onLoss: LossPolicy;
  readonly cancelOnAbort: boolean;
  /** Whether new sessions are prepared by `onStart`. */
  readonly hasStartHook: boolean;
  /** A time-out for everything, in virtual milliseconds: short, so that it may strike at any turn. */
  readonly timeoutMs: number | undefined;
  readonly clients: readonly ClientPlan[];
}

export interface ClientPlan {
  readonly name: string;
  /** Whether the client has a session fetch of its own on the shared slot. */
  readonly hasOwnFetch: boolean;
  readonly handshake: "none" | "initialize" | "discover";
  /** After how many turns the client aborts `initialize`, if it does. */
  readonly abortsHandshakeAfter: number | undefined;
  readonly operations: readonly Operation[];
}

export interface Operation {
  readonly kind: "write" | "read" | "list" | "ping" | "notify" | "token";
  readonly startsAfter: number;
  /** After how many turns the caller gives up, and how. */
  readonly givesUp?: { readonly by: "abort" | "cancel"; readonly after: number } | undefined;
}

export interface Disturbance {
  /** The server restarts, forgets its sessions while idle, or somebody ends the saved one. */
  readonly kind: "restart" | "forget" | "end";
  readonly connection: string;
  readonly after: number;
}

const connections = ["mail", "files"];
/** Joined with a separator, the first two are the same. */
const principals: readonly Principal[] = [
  { type: "user", issuer: "idp", id: "a:b" },
  { type: "user", issuer: "idp:a", id: "b" },
  { type: "app" },
];

/** Draws a plan. Each draws which faults there are at all, so that every mix comes up, calm ones too. */
export function createPlan(seed: number): Plan {
  const random = createRandom(seed ^ 0x5eed);
  const rate = (most: number) => (random.chance(0.35) ? most * (0.3 + 0.7 * random.float()) : 0);
  const used = connections.slice(0, random.chance(0.25) ? 2 : 1);
  const people = random.chance(0.4)
    ? principals.slice(0, 2 + random.below(2))
    : principals.slice(0, 1);
  const isBusy = random.chance(0.5);

  const operation = (): Operation => {
    const kind = random.pick([
      "write",
      "write",
      "write",
      "read",
      "read",
      "list",
      "ping",
      "notify",
      "token",
    ] as const);
    const startsAfter = random.below(isBusy ? 2 : 12);
    if (kind === "notify" || kind === "token" || !random.chance(0.15)) return { kind, startsAfter };
    const by = random.pick(["abort", "abort", "cancel"] as const);
    return { kind, startsAfter, givesUp: { by, after: random.below(8) } };
  };

  const client = (name: string): ClientPlan => ({
    name,
    hasOwnFetch: random.chance(0.5),
    handshake: random.pick(["none", "initialize", "initialize", "discover"] as const),
    abortsHandshakeAfter: random.chance(0.15) ? random.below(10) : undefined,
    operations: Array.from({ length: 1 + random.below(4) }, operation),
  });

  const process = (name: string): ProcessPlan => ({
    name,
    connection: random.pick(used),
    isMoved: random.chance(0.05),
    principal: random.pick(people),
    startsAfter: random.below(30),
    resend: random.pick(["safe", "safe", "safe", "always", "never"] as const),
    onLoss: random.chance(0.08) ? "report" : random.chance(0.1) ? "retry" : "replace",
    cancelOnAbort: random.chance(0.5),
    hasStartHook: random.chance(0.25),
    timeoutMs: random.chance(0.1) ? 500 : undefined,
    clients: Array.from({ length: 1 + random.below(2) }, (_, index) =>
      client(`${name}.${index + 1}`),
    ),
  });

  return {
    seed,
    savePoint: random.pick(["none", "plain", "compare-and-set", "compare-and-set"] as const),
    heedsSignals: random.chance(0.75),
    faults: {
      network: rate(0.15),
      outage: rate(0.15),
      cut: rate(0.25),
      unauthorized: rate(0.1),
      redirect: rate(0.05),
      forget: rate(0.25),
      probableAfterwards: rate(0.4),
      notFound: rate(0.15),
      breakStream: rate(0.5),
      truncate: rate(0.3),
      duplicate: rate(0.5),
      stray: rate(0.5),
      misroute: rate(1),
      slowHandshake: rate(1),
      store: rate(0.15),
    },
    processes: Array.from({ length: 1 + random.below(4) }, (_, index) => process(`p${index + 1}`)),
    disturbances: Array.from({ length: random.below(4) }, () => ({
      kind: random.pick(["restart", "forget", "end"] as const),
      connection: random.pick(used),
      after: random.below(60),
    })),
    waiting: createWaitingPlan(createRandom(seed ^ 0x11fe)),
  };
}
