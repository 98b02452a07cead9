import type { ClientName } from "../clients/index.ts";
import type { FixtureServer } from "../servers/fixture-server.ts";
import type { TestServer } from "../servers/server-process.ts";
import type { StatefulServer } from "../stateful/stateful-servers.ts";

/** How a server keeps sessions, which decides what it can do for a client. */
type ServerKind =
  /** Many sessions, found by their id. */
  | "sessions"
  /** One session for the whole process; no second one until it starts again. */
  | "one session"
  /** It names a session, and takes any id. */
  | "ids unchecked"
  /** It initializes and names no session. */
  | "no sessions"
  /** 2026-07-28 only: no `initialize`. */
  | "modern only"
  /** No client can read its answers. */
  | "unreadable";

/** A server of the matrix, with what it is expected to say. */
export interface MatrixServer extends StatefulServer {
  kind: ServerKind;
  start: () => Promise<TestServer | FixtureServer>;
  /** The npm packages whose versions the page names, the server's own first. */
  packages: string[];
  /** What it is, where the name does not say so. */
  note?: string;
  /** What it answers to an id that it does not know, that was ended, or that is from before its restart. */
  refusals?: ExpectedRefusals;
  /** What is seen with this server where it differs from others of its kind; `*` for all clients. */
  exceptions?: Partial<Record<ScenarioName, Partial<Record<ClientName | "*", string>>>>;
}

/** As `describeRefusal` prints them: status, content type, text. */
export interface ExpectedRefusals {
  unknown: string;
  ended: string;
  restarted: string;
}

export type ScenarioName =
  | "fresh"
  | "resumed"
  | "two at once"
  | "id unknown"
  | "ended by someone else"
  | "server restarted"
  | "killed before the answer";

export const scenarioNames: ScenarioName[] = [
  "fresh",
  "resumed",
  "two at once",
  "id unknown",
  "ended by someone else",
  "server restarted",
  "killed before the answer",
];

const noSessions = "worked, no session";

/** The outcomes of the scenarios in which a session is lost, in the order of `scenarioNames`. */
const afterLoss: Record<"sessions" | "one session" | "ids unchecked", [string, string, string]> = {
  sessions: ["recovered", "recovered", "recovered"],
  "one session": ["SESSION_LOST", "SESSION_LOST", "recovered"],
  "ids unchecked": ["loss not visible", "loss not visible", "loss not visible"],
};

/** What a scenario must show with this server; a run in which it shows anything else fails. */
export function expectedOutcome(
  server: MatrixServer,
  scenario: ScenarioName,
  client: ClientName,
): string {
  const exception = server.exceptions?.[scenario];
  const named = exception?.[client] ?? exception?.["*"];
  if (named !== undefined) return named;
  const unusable = whyUnusable(server, client);
  if (unusable !== undefined) return scenario === "fresh" ? unusable : "not reached";
  return whenUsable(server, scenario);
}

function whyUnusable({ kind }: MatrixServer, client: ClientName): string | undefined {
  if (kind === "unreadable") return "no usable answer to initialize";
  return kind === "modern only" && !probes(client) ? "other-era" : undefined;
}

function whenUsable({ kind }: MatrixServer, scenario: ScenarioName): string {
  const interrupted = "OUTCOME_UNKNOWN";
  const killed = scenario === "killed before the answer";
  if (kind === "sessions" || kind === "one session" || kind === "ids unchecked") {
    if (killed) return `${interrupted}, then ${kind === "ids unchecked" ? "worked" : "recovered"}`;
    return afterLoss[kind][scenarioNames.indexOf(scenario) - 3] ?? "worked";
  }
  return killed ? `${interrupted}, then ${noSessions}` : noSessions;
}

/** Clients that ask `server/discover` before they initialize. */
function probes(client: ClientName): boolean {
  return client === "@ai-sdk/mcp 2" || client.endsWith("(auto)");
}

/** A server that says the same whatever became of the session. */
export function same(refusal: string): ExpectedRefusals {
  return { unknown: refusal, ended: refusal, restarted: refusal };
}

/** What SDK v1's own examples say, and most servers after them. */
export const notFound = same('404, application/json: "Session not found"');
