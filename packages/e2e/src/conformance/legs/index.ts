import { alone } from "./alone.ts";
import type { OpenLegClient } from "./leg-client.ts";

/** Each is loaded when it is used: a leg is a new process, and they are large. */
const loaders = {
  "provider-pausing": async () => (await import("./pausing-connection.ts")).openPausingConnection,
  "ai-sdk-2-waiting": async () => {
    const { onSessionFetch } = await import("./on-session-fetch.ts");
    return onSessionFetch((await import("../../clients/ai-sdk-2.ts")).createAiSdk2);
  },
  "client-2-waiting": async () => {
    const { onSessionFetch } = await import("./on-session-fetch.ts");
    return onSessionFetch((await import("../../clients/client-2.ts")).createClient2Auto);
  },
  /** Without us, to show what a process for each leg takes. */
  "ai-sdk-2-alone": async () => alone((await import("../../clients/ai-sdk-2.ts")).createAiSdk2),
  "client-2-alone": async () =>
    alone((await import("../../clients/client-2.ts")).createClient2Auto),
} satisfies Record<string, () => Promise<OpenLegClient>>;

export type LegClientName = keyof typeof loaders;

export const legClientNames = Object.keys(loaders) as LegClientName[];

export function loadLegClient(name: LegClientName): Promise<OpenLegClient> {
  return loaders[name]();
}
