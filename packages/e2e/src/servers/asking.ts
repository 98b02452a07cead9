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
  orders: () => { tool: string; item: string; time: string }[];
  /** How often the page of a URL question was opened. */
  visits: () => number;
}

type Entry =
  | ({ kind: "request" } & AskingLeg)
  | { kind: "order"; tool: string; item: string; time: string }
  | { kind: "visit"; page: string };

const mayAsk = new Set<string>(["tools/call", "resources/read", "prompts/get"]);

/**
 * A server of revision 2026-07-28 alone whose tools ask a person. Its journal outlives `kill` and `restart`.
 *
 * @param use.stateSeconds how long a `requestState` is good for
 */
export async function startAskingServer({ stateSeconds = 600 } = {}): Promise<AskingServer> {
  const options = ["--state-seconds", String(stateSeconds)];
  const server = await startFixtureServer("asking", "asking-server.ts", ...options);
  const entries = <KIND extends Entry["kind"]>(kind: KIND) =>
    server
      .journal()
      .map((line) => JSON.parse(line) as Entry)
      .filter((entry): entry is Extract<Entry, { kind: KIND }> => entry.kind === kind);
  return {
    ...server,
    methods: () => entries("request").map(({ method }) => method),
    legs: () => entries("request").filter(({ method }) => mayAsk.has(method)),
    orders: () => entries("order"),
    visits: () => entries("visit").length,
  };
}
