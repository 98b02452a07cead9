import type { ConformanceClientKind } from "./conformance-client.ts";

/** Each is loaded when it is used: a step is a new process, and they are large. */
const loaders = {
  provider: async () => (await import("./provider-client.ts")).providerClient,
  "ai-sdk-2": async () => (await import("./ai-sdk-client.ts")).aiSdkClient,
  "sdk-1": async () => (await import("./sdk-1-client.ts")).sdk1Client,
  "client-2": async () => (await import("./client-2-client.ts")).client2Client,
  /** `@ai-sdk/mcp` 2 without the session fetch, to show that a scenario can fail. */
  "ai-sdk-2-bare": async () => ({
    ...(await import("./ai-sdk-client.ts")).aiSdkClient,
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
