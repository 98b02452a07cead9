import { randomUUID } from "node:crypto";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import type { OAuthClientInformation, OAuthClientProvider, OAuthTokens } from "@ai-sdk/mcp";

interface Kept {
  client?: OAuthClientInformation | undefined;
  tokens?: OAuthTokens | undefined;
  verifier?: string;
  state?: string;
  authorizationUrl?: string;
}

/** What an application writes for the AI SDK's client, with all of it in a file that the processes share. */
export function createFileAuthProvider(file: string, redirectUrl: string) {
  const load = (): Kept => (existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {});
  const save = (more: Kept) => {
    const next = `${file}.${process.pid}`;
    writeFileSync(next, JSON.stringify({ ...load(), ...more }), { mode: 0o600 });
    renameSync(next, file);
  };
  return {
    redirectUrl,
    clientMetadata: {
      client_name: "The tea demo",
      redirect_uris: [redirectUrl],
      grant_types: ["authorization_code", "refresh_token"],
      token_endpoint_auth_method: "none",
    },
    clientInformation: () => load().client,
    saveClientInformation: (client) => save({ client }),
    isClientInformationDynamicallyRegistered: () => true,
    tokens: () => load().tokens,
    saveTokens: (tokens) => save({ tokens }),
    // Another process may have saved others meanwhile: those stay.
    invalidateCredentials(scope, context) {
      const tokens = context?.tokens;
      const isOther = tokens && tokens.refresh_token !== load().tokens?.refresh_token;
      if (scope === "all" || (scope === "tokens" && !isOther)) save({ tokens: undefined });
      if (scope === "all" || scope === "client") save({ client: undefined });
    },
    saveCodeVerifier: (verifier) => save({ verifier }),
    codeVerifier: () => load().verifier ?? "",
    state: () => randomUUID(),
    saveState: (state) => save({ state }),
    storedState: () => load().state,
    // The user is in another process: the application's page sends them there.
    redirectToAuthorization: ({ href }) => save({ authorizationUrl: href }),
    authorizationUrl: () => load().authorizationUrl,
  } satisfies OAuthClientProvider & { authorizationUrl: () => string | undefined };
}
