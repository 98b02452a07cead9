import { type ClientName, clientNames } from "./clients/index.ts";
import { type LegClientName, legClientNames } from "./legs/index.ts";
import { type SignInClientName, signInClientNames } from "./sign-in/index.ts";

/** The clients of revisions with sessions, those of the revision without, and those of `@durable-mcp/oauth`. */
export type AnyClientName = ClientName | LegClientName | SignInClientName;

/** Whether it is a client of the revision without sessions, with a process for each leg. */
export function isLegClient(name: AnyClientName): name is LegClientName {
  return legClientNames.includes(name as LegClientName);
}

/** Whether it is a client of `@durable-mcp/oauth`, with a process for each part of a scenario. */
export function isSignInClient(name: AnyClientName): name is SignInClientName {
  return signInClientNames.includes(name as SignInClientName);
}

/** In the order of the report. */
export const anyClientNames: readonly AnyClientName[] = [
  ...clientNames,
  "ai-sdk-2-bare",
  ...legClientNames,
  ...signInClientNames,
];
