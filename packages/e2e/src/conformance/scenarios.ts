/** The suite's client scenarios for revisions with sessions, by the newest such revision they are for. */
const scenarioNames = {
  "2025-11-25": [
    "initialize",
    "tools_call",
    "elicitation-sep1034-client-defaults",
    "sse-retry",
    "json-schema-2020-12-preservation",
    "auth/metadata-default",
    "auth/metadata-var1",
    "auth/metadata-var2",
    "auth/metadata-var3",
    "auth/basic-cimd",
    "auth/scope-from-www-authenticate",
    "auth/scope-from-scopes-supported",
    "auth/scope-omitted-when-undefined",
    "auth/scope-step-up",
    "auth/scope-retry-limit",
    "auth/token-endpoint-auth-basic",
    "auth/token-endpoint-auth-post",
    "auth/token-endpoint-auth-none",
    "auth/pre-registration",
  ],
  "2025-03-26": [
    "auth/2025-03-26-oauth-metadata-backcompat",
    "auth/2025-03-26-oauth-endpoint-fallback",
  ],
};

/** A scenario and the revision that its server speaks. */
export interface Scenario {
  readonly name: string;
  readonly revision: string;
}

export const scenarios: Scenario[] = Object.entries(scenarioNames).flatMap(([revision, names]) =>
  names.map((name) => ({ name, revision })),
);

/**
 * The suite's client scenarios for the revision without sessions: the one in which the server asks
 * the user something, and those about what each request carries.
 */
export const statelessScenarios: Scenario[] = [
  "sep-2322-client-request-state",
  "tools_call",
  "request-metadata",
  "http-standard-headers",
  "http-custom-headers",
  "http-invalid-tool-headers",
  "json-schema-ref-no-deref",
  "json-schema-2020-12-preservation",
].map((name) => ({ name, revision: "2026-07-28" }));

export const everyScenario: readonly Scenario[] = [...scenarios, ...statelessScenarios];

/** The suite lets the client fail here, once it has given up. */
export const mayFail: ReadonlySet<string> = new Set(["auth/scope-retry-limit"]);

/** The revisions with sessions, newest first. */
const revisions = ["2025-11-25", "2025-06-18", "2025-03-26"];

/** Reads what `conformance list --client` prints: the scenarios that there are for these revisions. */
export function parseScenarioList(printed: string, of = revisions): Scenario[] {
  return [...printed.matchAll(/^ {2}- (\S+) \[(.*)\]$/gm)].flatMap(([, name = "", tags = ""]) => {
    const revision = of.find((candidate) => tags.split(",").includes(candidate));
    return revision === undefined ? [] : [{ name, revision }];
  });
}
