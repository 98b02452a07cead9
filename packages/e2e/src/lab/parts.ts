/** One of the long programs. */
export interface LabPart {
  readonly name: string;
  /** One sentence. */
  readonly about: string;
  /** With its usual arguments, on 2 cores. */
  readonly lasts: string;
  /** Under `packages`; without one it is the matrix of vitest. */
  readonly program?: string;
  /** Options of Node. */
  readonly node?: readonly string[];
  /** What comes before the caller's own arguments. */
  readonly args?: readonly string[];
  /** Arguments for a minute or less; without them it has no short share. */
  readonly share?: readonly string[];
}

const quiet = ["--disable-warning=ExperimentalWarning"];
const kill = "e2e/src/kill/run.ts";

/** In the order in which `npm run lab` lists them. */
export const labParts: readonly LabPart[] = [
  {
    name: "matrix",
    about: "Runs every server with every client, every store, and the long programs of the tests.",
    lasts: "15 min",
  },
  {
    name: "proxies",
    about:
      "Puts nginx, haproxy, caddy and PgBouncer before our packages, and moves slots of a Redis cluster.",
    lasts: "2 min",
    args: ["proxies.matrix", "poolers.matrix", "moving-slots.matrix"],
  },
  {
    name: "attacks",
    about: "Runs the tests that attack, and says of each class how many held, and what does not.",
    lasts: "4 min",
    program: "e2e/src/attacks/run.ts",
    share: ["--class", "returnUrl"],
  },
  {
    name: "simulate",
    about: "Loses sessions in seeded schedules, and checks the invariants of the session fetch.",
    lasts: "2 min",
    program: "core/test/simulation/simulate.ts",
    share: ["--schedules", "500"],
  },
  {
    name: "chaos",
    about: "Kills, freezes and cuts off at random all that waiting calls and watches need.",
    lasts: "45 min",
    program: "e2e/src/chaos/run.ts",
    node: quiet,
    share: ["--rounds", "20"],
  },
  {
    name: "single-faults",
    about: "Fails each operation of store and wire in the life of a waiting call, once.",
    lasts: "40 min",
    program: "e2e/src/chaos/run-single.ts",
    node: quiet,
    share: ["--every", "200"],
  },
  {
    name: "kill",
    about: "Kills or freezes a step at each of its points, and takes the next one.",
    lasts: "5 min",
    program: kill,
    args: ["steps"],
    share: ["--times", "10"],
  },
  {
    name: "kill-sign-in",
    about: "Kills processes in a sign-in and in a refresh.",
    lasts: "8 min",
    program: kill,
    args: ["sign-in"],
    share: ["--times", "30"],
  },
  {
    name: "kill-replicas",
    about: "Kills or drains replicas of a server while clients call one tool after the other.",
    lasts: "2 min",
    program: kill,
    args: ["replicas"],
    share: ["--calls", "80"],
  },
  {
    name: "kill-calls",
    about: "Kills or drains replicas and breaks connections while many calls are in flight.",
    lasts: "2 min",
    program: kill,
    args: ["calls"],
    share: ["--calls", "64"],
  },
  {
    name: "kill-server-tasks",
    about: "Kills or drains replicas of a server while its tasks of 2026-07-28 work and ask.",
    lasts: "2 min",
    program: kill,
    args: ["server-tasks"],
    share: ["--calls", "64"],
  },
  {
    name: "kill-session-tasks",
    about: "Kills or drains replicas of a server while its tasks of SDK v1 run, and ask.",
    lasts: "3 min",
    program: kill,
    args: ["session-tasks"],
    share: ["--calls", "48"],
  },
  {
    name: "gateway",
    about: "Kills and freezes a gateway's processes in clients' calls, and its server forgets.",
    lasts: "2 min",
    program: "e2e/src/gateway/run.ts",
    node: quiet,
    share: ["--calls", "200"],
  },
  {
    name: "agents",
    about: "Runs coding agents from npm over restarts and kills, without and with a gateway.",
    lasts: "20 min",
    program: "e2e/src/gateway/agents/run.ts",
    share: ["--client", "codex", "--through"],
  },
  {
    name: "race-sign-in",
    about: "Has 20 living processes meet an expired token, or a new authorization server, at once.",
    lasts: "4 min",
    program: "e2e/src/kill/race-sign-in.ts",
    share: ["--times", "4", "--processes", "5"],
  },
  {
    name: "due",
    about: "Has ten processes look at 1,000 calls that their server keeps, whenever one is due.",
    lasts: "2 min",
    program: "e2e/src/kill/due-workers.ts",
    share: ["--workers", "3", "--calls", "60"],
  },
  {
    name: "openers",
    about: "Has six processes open one session at once, on every store.",
    lasts: "3 min",
    program: "e2e/src/durable/openers.ts",
    share: ["--rounds", "2"],
  },
  {
    name: "faults",
    about: "Has agents work while processes, stores, servers, gateways, balancers and clocks fail.",
    lasts: "20 min",
    program: "e2e/src/faults/run.ts",
    share: ["--family", "gateway", "--rounds", "1"],
  },
  {
    name: "soak",
    about: "Makes many runs in one process, and looks for what grows.",
    lasts: "20 min",
    program: "e2e/src/soak/soak.ts",
    node: ["--expose-gc"],
    share: ["--runs", "200", "--samples", "4"],
  },
  {
    name: "mutations",
    about:
      "Makes one-line faults in core, sessions and ai-sdk, and says which test caught each, or none.",
    lasts: "90 min",
    program: "e2e/src/mutations/run.ts",
  },
  {
    name: "conformance",
    about: "Runs the protocol's own suite against clients with and without the session fetch.",
    lasts: "12 min",
    program: "e2e/src/conformance/run.ts",
    share: ["--client", "ai-sdk-2", "--mode", "fresh"],
  },
  {
    name: "compatibility",
    about: "Loses sessions of every server in every way, with each client; writes the page.",
    lasts: "25 min",
    program: "e2e/src/compatibility/main.ts",
    share: ["mcp-handler"],
  },
  {
    name: "load",
    about: "Measures the server, with each store, beside the transport of the official SDK.",
    lasts: "15 min",
    program: "benchmarks/src/server-load/program.ts",
    share: ["--parts", "calls", "--servers", "sdk,memory", "--callers", "1", "--rounds", "1"],
  },
  {
    name: "comparison",
    about: "Shows what callers of other clients see; `--write` writes docs/comparison.md.",
    lasts: "2 min",
    program: "benchmarks/src/sharing/program.ts",
    node: quiet,
  },
  {
    name: "stores",
    about: "Measures the stores with 100, 10,000 and 100,000 sessions in them.",
    lasts: "10 min",
    program: "stores/bench/measure-stores.ts",
  },
  {
    name: "connections",
    about: "Measures a step of a hundred connections in a PostgreSQL store.",
    lasts: "1 min",
    program: "stores/bench/measure-connections.ts",
  },
  {
    name: "waiting",
    about: "Measures a PostgreSQL store in which 100,000 calls wait; `--million`.",
    lasts: "2 min",
    program: "stores/bench/measure-waiting.ts",
  },
  {
    name: "looks",
    about: "Measures `due` beside a million idle sessions, on each store; `--share` with fewer.",
    lasts: "15 min",
    program: "stores/bench/measure-due.ts",
  },
  {
    name: "page",
    about: "Brings the page of a chat in a Chromium into trouble, in each of its states.",
    lasts: "4 min",
    program: "examples/src/page/run.ts",
    node: quiet,
    share: ["--share"],
  },
  {
    name: "template",
    about: "Installs examples/next-chat as its user does, and drives it in a Chromium.",
    lasts: "3 min",
    program: "examples/src/template/run.ts",
    share: ["--start"],
  },
  {
    name: "release",
    about: "Plays releases through on a local registry, and installs from it.",
    lasts: "4 min",
    program: "e2e/src/rehearsal/run.ts",
  },
  {
    name: "pictures",
    about: "Draws the timelines of the README and of the guide in a Chromium.",
    lasts: "1 min",
    program: "cli/test/write-timeline-pictures.ts",
  },
];
