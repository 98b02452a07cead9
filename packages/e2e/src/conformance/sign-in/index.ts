import type { OpenSignInClient } from "./sign-in-client.ts";

/** Each is loaded when it is used: each use is a new process, and they are large. */
const loaders = {
  "provider-oauth": async () => (await import("./oauth-connection.ts")).openOAuthConnection,
  "ai-sdk-2-oauth": async () => {
    const { onOAuthFetch } = await import("./on-oauth-fetch.ts");
    return onOAuthFetch((await import("../../clients/ai-sdk-2.ts")).createAiSdk2);
  },
  "client-2-oauth": async () => {
    const { onOAuthFetch } = await import("./on-oauth-fetch.ts");
    return onOAuthFetch((await import("../../clients/client-2.ts")).createClient2Auto);
  },
} satisfies Record<string, () => Promise<OpenSignInClient>>;

export type SignInClientName = keyof typeof loaders;

export const signInClientNames = Object.keys(loaders) as SignInClientName[];

export function loadSignInClient(name: SignInClientName): Promise<OpenSignInClient> {
  return loaders[name]();
}
