import type { OpenLegClient } from "./legs/leg-client.ts";
import type { ConformanceClientKind } from "./clients/conformance-client.ts";
import type { OpenSignInClient } from "./sign-in/sign-in-client.ts";

// Each is loaded when it is used: each use is a new process, and they are large.
const aiSdk2 = async () => (await import("../clients/ai-sdk-2.ts")).createAiSdk2;
const client2 = async () => (await import("../clients/client-2.ts")).createClient2;
const client2Auto = async () => (await import("../clients/client-2.ts")).createClient2Auto;
const onSessionFetch = async () => (await import("./legs/on-session-fetch.ts")).onSessionFetch;
const alone = async () => (await import("./legs/alone.ts")).alone;
const onOAuthFetch = async () => (await import("./sign-in/on-oauth-fetch.ts")).onOAuthFetch;

/** Those of revisions with sessions. */
const clients = {
  provider: async () => (await import("./clients/provider-client.ts")).providerClient,
  "ai-sdk-2": async () => ({ create: await aiSdk2() }),
  "sdk-1": async () => ({ create: (await import("../clients/sdk-1.ts")).createSdk1 }),
  "client-2": async () => ({ create: await client2() }),
  /** `@ai-sdk/mcp` 2 without the session fetch, to show that a scenario can fail. */
  "ai-sdk-2-bare": async () => ({ create: await aiSdk2(), hasOwnFetch: true }),
} satisfies Record<string, () => Promise<ConformanceClientKind>>;

/** Those of the revision without sessions, with a process for each leg. */
const legClients = {
  "provider-pausing": async () =>
    (await import("./legs/pausing-connection.ts")).openPausingConnection,
  "ai-sdk-2-waiting": async () => (await onSessionFetch())(await aiSdk2()),
  "client-2-waiting": async () => (await onSessionFetch())(await client2Auto()),
  /** Without us, to show what a process for each leg takes. */
  "ai-sdk-2-alone": async () => (await alone())(await aiSdk2()),
  "client-2-alone": async () => (await alone())(await client2Auto()),
} satisfies Record<string, () => Promise<OpenLegClient>>;

/** Those of `@durable-mcp/oauth`, with a process for each part of a scenario. */
const signInClients = {
  "provider-oauth": async () => (await import("./sign-in/oauth-connection.ts")).openOAuthConnection,
  "ai-sdk-2-oauth": async () => (await onOAuthFetch())(await aiSdk2()),
  "client-2-oauth": async () => (await onOAuthFetch())(await client2Auto()),
} satisfies Record<string, () => Promise<OpenSignInClient>>;

export type ClientName = keyof typeof clients;
export type LegClientName = keyof typeof legClients;
export type SignInClientName = keyof typeof signInClients;
export type AnyClientName = ClientName | LegClientName | SignInClientName;

const bare = "ai-sdk-2-bare";
export const clientNames = (Object.keys(clients) as ClientName[]).filter((name) => name !== bare);
export const legClientNames = Object.keys(legClients) as LegClientName[];
export const signInClientNames = Object.keys(signInClients) as SignInClientName[];

/** In the order of the report. */
export const anyClientNames: readonly AnyClientName[] = [
  ...clientNames,
  bare,
  ...legClientNames,
  ...signInClientNames,
];

export function isLegClient(name: AnyClientName): name is LegClientName {
  return name in legClients;
}

export function isSignInClient(name: AnyClientName): name is SignInClientName {
  return name in signInClients;
}

export function loadClient(name: ClientName): Promise<ConformanceClientKind> {
  return clients[name]();
}

export function loadLegClient(name: LegClientName): Promise<OpenLegClient> {
  return legClients[name]();
}

export function loadSignInClient(name: SignInClientName): Promise<OpenSignInClient> {
  return signInClients[name]();
}
