import type { Principal, SessionStore } from "@durable-mcp/core";
import { createOAuth, type OAuth, type OAuthClient } from "@durable-mcp/oauth";
import { importPKCS8 } from "jose";

/** What the suite tells the client in advance. */
export interface SignInContext {
  readonly client_id?: string;
  readonly client_secret?: string;
  readonly private_key_pem?: string;
  readonly signing_algorithm?: string;
  readonly issuer?: string;
  readonly idp_client_id?: string;
  readonly idp_id_token?: string;
  readonly idp_issuer?: string;
  /** The token of the workload's platform. */
  readonly valid_jwt?: string;
}

/** An application of a scenario, in one of its processes. */
export interface ScenarioApplication {
  readonly oauth: OAuth;
  readonly principal: Principal;
}

const user: Principal = { type: "user", issuer: "https://app.example", id: "ada" };
const app: Principal = { type: "app" };

export async function createScenarioOAuth({
  scenario,
  context,
  url,
  store,
  key,
}: {
  readonly scenario: string;
  readonly context: SignInContext;
  readonly url: string;
  readonly store: SessionStore;
  readonly key: string;
}): Promise<ScenarioApplication> {
  const clientCredentials = scenario.startsWith("auth/client-credentials-");
  const { idp_issuer: issuer, idp_client_id: idpClientId, idp_id_token, valid_jwt } = context;
  const client = await givenClient(context, url);
  const oauth = createOAuth({
    store,
    redirectUrl: "http://localhost:3000/callback",
    keys: { current: Buffer.from(key, "base64url") },
    clientName: "durable-mcp",
    // Elsewhere the suite is to see how the client registers.
    ...(scenario === "auth/basic-cimd" && {
      clientMetadataUrl: "https://conformance-test.local/client-metadata.json",
    }),
    clients: client === undefined ? [] : [{ ...client, clientCredentials }],
    ...(issuer !== undefined && {
      enterprise: {
        ...{ issuer, client: { clientId: idpClientId ?? "" } },
        idToken: () => idp_id_token,
      },
    }),
    ...(valid_jwt !== undefined && { workload: { assertion: () => valid_jwt } }),
  });
  const isOfApplication = clientCredentials || valid_jwt !== undefined;
  return { oauth, principal: isOfApplication ? app : user };
}

/** The registration by hand that the suite hands out, if it does. */
async function givenClient(
  { client_id: clientId, client_secret, private_key_pem, signing_algorithm, issuer }: SignInContext,
  url: string,
): Promise<OAuthClient | undefined> {
  if (clientId === undefined) return undefined;
  return {
    clientId,
    issuer: issuer ?? (await issuerOf(url)),
    ...(client_secret !== undefined && { clientSecret: client_secret }),
    ...(private_key_pem !== undefined && {
      privateKey: await importPKCS8(private_key_pem, signing_algorithm ?? "ES256"),
    }),
  };
}

/** Looked up as the people would who registered the client: the suite does not always say where it did. */
async function issuerOf(url: string): Promise<string> {
  const { origin, pathname } = new URL(url);
  const answer = await fetch(`${origin}/.well-known/oauth-protected-resource${pathname}`);
  const { authorization_servers: issuers } = (await answer.json()) as {
    authorization_servers: [string];
  };
  return issuers[0];
}
