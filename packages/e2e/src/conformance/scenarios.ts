/** About authorization, in revisions with sessions and without. */
const authorizationOfBoth = [
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
];

/** The suite's client scenarios for revisions with sessions, by the newest such revision they are for. */
const scenarioNames = {
  "2025-11-25": [
    "initialize",
    "tools_call",
    "elicitation-sep1034-client-defaults",
    "sse-retry",
    "json-schema-2020-12-preservation",
    ...authorizationOfBoth,
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

export const scenarios: Scenario[] = withRevisions(scenarioNames);

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

/** What the suite calls the revision of scenarios about extensions. They run with its newest revision with sessions. */
export const extension = "extension";

const authorizationNames = {
  "2026-07-28": [
    ...authorizationOfBoth,
    "auth/resource-mismatch",
    "auth/offline-access-scope",
    "auth/offline-access-not-supported",
    "auth/authorization-server-migration",
    "auth/iss-supported",
    "auth/iss-not-advertised",
    "auth/iss-supported-missing",
    "auth/iss-wrong-issuer",
    "auth/iss-unexpected",
    "auth/iss-normalized",
    "auth/metadata-issuer-mismatch",
  ],
  "2025-03-26": [
    "auth/2025-03-26-oauth-metadata-backcompat",
    "auth/2025-03-26-oauth-endpoint-fallback",
  ],
  [extension]: [
    "auth/client-credentials-jwt",
    "auth/client-credentials-basic",
    "auth/enterprise-managed-authorization",
    "auth/wif-jwt-bearer",
    "auth/dpop",
    "auth/dpop-nonce",
  ],
};

/** The suite's client scenarios about authorization, for `@durable-mcp/oauth`, by their newest revision. */
export const authorizationScenarios: readonly Scenario[] = withRevisions(authorizationNames);

export const everyScenario: readonly Scenario[] = [
  ...scenarios,
  ...statelessScenarios,
  ...authorizationScenarios,
];

/** The revisions with sessions, newest first. */
const revisions = ["2025-11-25", "2025-06-18", "2025-03-26"];

/** Reads what `conformance list --client` prints: the scenarios that there are for these revisions. */
export function parseScenarioList(printed: string, of = revisions): Scenario[] {
  return [...printed.matchAll(/^ {2}- (\S+) \[(.*)\]$/gm)].flatMap(([, name = "", tags = ""]) => {
    const revision = of.find((candidate) => tags.split(",").includes(candidate));
    return revision === undefined ? [] : [{ name, revision }];
  });
}

function withRevisions(names: Readonly<Record<string, readonly string[]>>): Scenario[] {
  return Object.entries(names).flatMap(([revision, each]) =>
    each.map((name) => ({ name, revision })),
  );
}

/** How often a scenario's client is built anew. */
export const modes = ["fresh", "resumed", "process"] as const;

/**
 * `fresh`: one client in one process. `resumed`: before every step the client is built anew from
 * the saved snapshot. `process`: so it is, in a process of its own, to which the snapshot is
 * handed over.
 */
export type Mode = (typeof modes)[number];
