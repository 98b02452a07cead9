import type { AnyClientName } from "./any-client.ts";

/** Checks that a client does not pass, in any mode, and why. */
export interface ExpectedFailure {
  readonly client: AnyClientName;
  readonly scenario: string;
  /** All checks that fail, by the suite's ids, or how the client ended: see `ScenarioResult`. */
  readonly checks: readonly string[];
  readonly reason: string;
}

const isOfAiSdk: Omit<ExpectedFailure, "client">[] = [
  {
    scenario: "auth/metadata-var3",
    checks: ["authorization-server-metadata-wrong-path"],
    reason:
      "`@ai-sdk/mcp` 2 also looks for the metadata of an authorization server with a path at the root of its host, before it tries OpenID discovery below the path.",
  },
  {
    scenario: "auth/basic-cimd",
    checks: ["cimd-client-id-used"],
    reason:
      "`@ai-sdk/mcp` 2 has no client id metadata documents: it registers dynamically, which the suite allows with a warning.",
  },
  {
    scenario: "auth/scope-step-up",
    checks: ["scope-step-up-escalation", "client-exit"],
    reason:
      "`@ai-sdk/mcp` 2 asks for authorization after a 401 only; a 403 with `insufficient_scope` fails the call.",
  },
];

/** The clients of the revision without sessions: their legs are counted from 1. */
const ofLegs: readonly ExpectedFailure[] = [
  ...(["ai-sdk-2-alone", "client-2-alone"] as const).map((client) => ({
    client,
    scenario: "sep-2322-client-request-state",
    checks: [
      "sep-2322-client-request-state-echoed",
      "sep-2322-client-jsonrpc-id-different",
      "sep-2322-client-no-state-omitted",
      ...["leg-1", "leg-3", "leg-4", "leg-5", "leg-6"],
    ],
    reason:
      "When nobody answers at once, the call fails (legs 1 and 3), and a later process has nothing to answer (legs 4 and 5). `@modelcontextprotocol/client` 2 gives the question to applications that ask for it, which then have to keep it. Both clients refuse a result without `resultType` (leg 6), which the specification wants taken for a complete one.",
  })),
  ...(["provider-pausing", "ai-sdk-2-waiting", "ai-sdk-2-alone"] as const).map((client) => ({
    client,
    scenario: "request-metadata",
    checks: ["leg-1", "leg-2"],
    reason:
      "`@ai-sdk/mcp` 2 gives up when the server refuses its version and names the same version as supported (leg 1), and lists no tools of a server that declares none (leg 2). The suite's checks pass.",
  })),
];

/** What is known not to pass. A check that fails without standing here fails the run, and so does one that stands here and passes. */
export const expectedFailures: readonly ExpectedFailure[] = [
  ...isOfAiSdk.map((failure) => ({ client: "provider" as const, ...failure })),
  ...isOfAiSdk.map((failure) => ({ client: "ai-sdk-2" as const, ...failure })),
  ...isOfAiSdk.map((failure) => ({ client: "ai-sdk-2-bare" as const, ...failure })),
  {
    client: "ai-sdk-2-bare",
    scenario: "sse-retry",
    checks: ["client-sse-retry-timing", "client-sse-last-event-id", "client-timeout"],
    reason:
      "Without the session fetch `@ai-sdk/mcp` 2 does not resume an answer stream that broke: the call never ends.",
  },
  ...ofLegs,
];

/** The entry for a scenario and client, if it is known not to pass. */
export function findExpected({
  client,
  scenario,
}: Pick<ExpectedFailure, "client" | "scenario">): ExpectedFailure | undefined {
  return expectedFailures.find((entry) => entry.client === client && entry.scenario === scenario);
}
