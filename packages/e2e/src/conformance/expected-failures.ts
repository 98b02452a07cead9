import type { ClientName } from "./clients/index.ts";

/** Checks that a client does not pass, in any mode, and why. */
export interface ExpectedFailure {
  readonly client: ClientName;
  readonly scenario: string;
  /** All checks that fail, by the suite's ids, or `client-exit` and `client-timeout`. */
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
];

/** The entry for a scenario and client, if it is known not to pass. */
export function findExpected({
  client,
  scenario,
}: Pick<ExpectedFailure, "client" | "scenario">): ExpectedFailure | undefined {
  return expectedFailures.find((entry) => entry.client === client && entry.scenario === scenario);
}
