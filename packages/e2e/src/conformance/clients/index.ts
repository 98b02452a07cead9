import type { ConformanceClientKind } from "./conformance-client.ts";

/** Each is loaded when it is used: a step is a new process, and they are large. */
const loaders = {
  provider: async () => (await import("./provider-client.ts")).providerClient,
  "ai-sdk-2": async () => ({ create: (await import("../../clients/ai-sdk-2.ts")).createAiSdk2 }),
  "sdk-1": async () => ({ create: (await import("../../clients/sdk-1.ts")).createSdk1 }),
  "client-2": async () => ({ create: (await import("../../clients/client-2.ts")).createClient2 }),
  /** `@ai-sdk/mcp` 2 without the session fetch, to show that a scenario can fail. */
  "ai-sdk-2-bare": async () => ({
    create: (await import("../../clients/ai-sdk-2.ts")).createAiSdk2,
    hasOwnFetch: true,
  }),
} satisfies Record<string, () => Promise<ConformanceClientKind>>;

export type ClientName = keyof typeof loaders;

export const clientNames = (Object.keys(loaders) as ClientName[]).filter(
  (name) => name !== "ai-sdk-2-bare",
);

export function loadClient(name: ClientName): Promise<ConformanceClientKind> {
  return loaders[name]();
}
