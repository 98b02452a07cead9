import { type ClientName, clientNames } from "./clients/index.ts";
import { type LegClientName, legClientNames } from "./legs/index.ts";

/** The clients of revisions with sessions, and those of the revision without. */
export type AnyClientName = ClientName | LegClientName;

/** Whether it is a client of the revision without sessions, with a process for each leg. */
export function isLegClient(name: AnyClientName): name is LegClientName {
  return legClientNames.includes(name as LegClientName);
}

/** In the order of the report. */
export const anyClientNames: readonly AnyClientName[] = [
  ...clientNames,
  "ai-sdk-2-bare",
  ...legClientNames,
];
