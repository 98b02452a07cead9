import type { OAuthClientProvider } from "@ai-sdk/mcp";

/** What an application stores of OAuth between two steps. */
export interface AuthorizationState {
  clientInformation?: Awaited<ReturnType<OAuthClientProvider["clientInformation"]>>;
  isDynamicallyRegistered?: boolean;
  tokens?: Awaited<ReturnType<OAuthClientProvider["tokens"]>>;
  codeVerifier?: string;
}

/** What the suite tells the client in advance. */
export interface ScenarioContext {
  client_id?: string;
  client_secret?: string;
}

/** A user who agrees to everything, and an application that stores what it is given. */
export interface Authorization {
  /** Serves all clients: their providers differ in names of types only. */
  readonly provider: OAuthClientProvider & { readonly clientMetadataUrl: string };
  readonly state: AuthorizationState;
  /** The query of the callback URL, once, after the user was sent to the authorization server. */
  takeCallback: () => URLSearchParams | undefined;
}

export function createAuthorization(
  state: AuthorizationState,
  context: ScenarioContext,
): Authorization {
  let callback: URLSearchParams | undefined;
  let authorizationServer: string | undefined;
  const { client_id, client_secret } = context;
  return {
    state,
    takeCallback: () => {
      const taken = callback;
      callback = undefined;
      return taken;
    },
    provider: {
      redirectUrl: "http://localhost:3000/callback",
      clientMetadataUrl: "https://conformance-test.local/client-metadata.json",
      clientMetadata: {
        client_name: "durable-mcp",
        redirect_uris: ["http://localhost:3000/callback"],
        application_type: "native",
      },
      // The suite does not say which server issued the credentials it hands out in advance, and
      // `@ai-sdk/mcp` sends none that are bound to no server: the first one gets them.
      validateAuthorizationServerURL: (_server, url) => {
        authorizationServer ??= String(url);
      },
      clientInformation: () => {
        if (client_id === undefined) return state.clientInformation;
        return (state.clientInformation ??= {
          client_id,
          ...(client_secret !== undefined && { client_secret }),
          ...(authorizationServer !== undefined && { issuer: authorizationServer }),
        });
      },
      saveClientInformation: (information) => {
        state.clientInformation = information;
        state.isDynamicallyRegistered = true;
      },
      isClientInformationDynamicallyRegistered: () => state.isDynamicallyRegistered ?? false,
      tokens: () => state.tokens,
      saveTokens: (tokens) => {
        state.tokens = tokens;
      },
      saveCodeVerifier: (codeVerifier) => {
        state.codeVerifier = codeVerifier;
      },
      codeVerifier: () => {
        if (state.codeVerifier === undefined) throw new Error("no code verifier was saved");
        return state.codeVerifier;
      },
      redirectToAuthorization: async (url) => {
        const answer = await fetch(url, { redirect: "manual" });
        const location = answer.headers.get("location");
        if (location === null) throw new Error(`no redirect from ${url.origin}`);
        callback = new URL(location).searchParams;
      },
    },
  };
}
