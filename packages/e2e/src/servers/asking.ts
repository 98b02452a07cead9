import { type FixtureServer, startFixtureServer } from "./fixture-server.ts";

/** A request that may be answered with questions, as it came. */
export interface AskingLeg {
  id: unknown;
  method: "tools/call" | "resources/read" | "prompts/get";
  params: {
    name?: string;
    uri?: string;
    arguments?: Record<string, unknown>;
    inputResponses?: Record<string, unknown>;
    requestState?: string;
    _meta?: Record<string, unknown>;
  };
  /** Those that begin with `mcp-`, and `authorization` and `traceparent`. */
  headers: Record<string, string>;
}

export interface AskingServer extends FixtureServer {
  /** Methods of all requests, in the order in which they came. */
  methods: () => string[];
  /** First legs and later ones, in the order in which they came. */
  legs: () => AskingLeg[];
  /** The steps in which a tool started. */
  toolRuns: (tool: string) => { step?: string }[];
  orders: () => { tool: string; item: string; time: string }[];
  /** How often the page of a URL question was opened. */
  visits: () => number;
}

export interface AskingServerOptions {
  /** Bearer tokens, of one caller each; a request needs one of them. */
  auth?: readonly string[];
  /** How long each leg waits before it is handled, in milliseconds. */
  slowMs?: number;
  /** How long a `requestState` is good for, in seconds. @default 600 */
  stateSeconds?: number;
  /** Signs `requestState`, in 32 bytes or more: two servers with one key read each other's. */
  stateKey?: string;
}

type Entry =
  | ({ kind: "request" } & AskingLeg)
  | { kind: "run"; tool: string; step?: string }
  | { kind: "order"; tool: string; item: string; time: string }
  | { kind: "visit"; page: string };

const mayAsk = new Set<string>(["tools/call", "resources/read", "prompts/get"]);

/** A server of revision 2026-07-28 alone whose tools ask a person. Its journal outlives `kill` and `restart`. */
export async function startAskingServer({
  auth = [],
  slowMs,
  stateSeconds,
  stateKey,
}: AskingServerOptions = {}): Promise<AskingServer> {
  const server = await startFixtureServer(
    "asking",
    "asking-server.ts",
    ...auth.flatMap((token) => ["--auth", token]),
    ...(slowMs === undefined ? [] : ["--slow", String(slowMs)]),
    ...(stateSeconds === undefined ? [] : ["--state-seconds", String(stateSeconds)]),
    ...(stateKey === undefined ? [] : ["--state-key", stateKey]),
  );
  const entries = <KIND extends Entry["kind"]>(kind: KIND) =>
    server
      .journal()
      .map((line) => JSON.parse(line) as Entry)
      .filter((entry): entry is Extract<Entry, { kind: KIND }> => entry.kind === kind);
  return {
    ...server,
    methods: () => entries("request").map(({ method }) => method),
    legs: () => entries("request").filter(({ method }) => mayAsk.has(method)),
    toolRuns: (name) => entries("run").filter(({ tool }) => tool === name),
    orders: () => entries("order"),
    visits: () => entries("visit").length,
  };
}
