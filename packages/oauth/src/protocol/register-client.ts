import * as oauth from "oauth4webapi";
import { asServer, type AuthorizationServer } from "./authorization-server.ts";
import { type AuthMethod, type Client, isAuthMethod } from "./client.ts";
import { isLoopbackUrl } from "./loopback-url.ts";
import {
  requestError,
  type RequestName,
  type Sending,
  sendRequest,
  throwFailed,
} from "./server-request.ts";
import { errorWord, serverWords } from "./server-words.ts";

export interface Registration extends Sending {
  readonly server: AuthorizationServer;
  readonly redirectUrl: string;
  /** What the user sees at the sign-in. */
  readonly clientName?: string | undefined;
  readonly scopes?: readonly string[] | undefined;
}

/**
 * Registers a client at a server: public where the server has such clients, for a code and for refreshes. With
 * a callback on this computer without TLS it is a "native" application, otherwise a "web" one.
 *
 * @throws {McpSessionError} `CONNECTION_UNAVAILABLE` if the server has no registration, or refuses this one
 * @see https://www.rfc-editor.org/rfc/rfc7591#section-3
 * @see https://openid.net/specs/openid-connect-registration-1_0.html#ClientMetadata
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization/client-registration#dynamic-client-registration
 */
export async function registerClient({
  server,
  redirectUrl,
  clientName,
  scopes = [],
  fetch,
  signal,
}: Registration): Promise<Client> {
  const url = new URL(server.registration_endpoint ?? server.issuer);
  const name = { method: "POST", url } as const;
  if (server.registration_endpoint === undefined) {
    const why =
      "the authorization server registers no clients by itself. Register one by hand, and give it in `clients`, or set clientMetadataUrl.";
    throw requestError(name, why, { field: "clients" });
  }
  const authMethod = methodToRegister(server, name);
  const metadata = {
    redirect_uris: [redirectUrl],
    application_type: isLoopbackUrl(new URL(redirectUrl)) ? "native" : "web",
    grant_types: grantTypes(server),
    response_types: ["code"],
    token_endpoint_auth_method: authMethod,
    ...(clientName !== undefined && { client_name: clientName }),
    ...(scopes.length > 0 && { scope: scopes.join(" ") }),
  };
  const answer = await sendRequest(name, { fetch, signal }, (customFetch, limit) =>
    oauth.dynamicClientRegistrationRequest(asServer(server), metadata, {
      [oauth.customFetch]: customFetch,
      [oauth.allowInsecureRequests]: isLoopbackUrl(url),
      ...(limit !== undefined && { signal: limit }),
    }),
  );
  if (answer.type === "failed") throwFailed(answer, signal);
  const { status, json } = answer;
  const client = status === 200 || status === 201 ? readClient(json, authMethod) : undefined;
  if (client !== undefined) return client;
  const error = errorWord(json?.["error"], []);
  const description = serverWords(json?.["error_description"], []);
  const words = [error, description].filter(Boolean).join(": ");
  const why = `the authorization server registered no client${words && ` (${words})`}. Register one by hand, and give it in \`clients\`.`;
  throw requestError(name, why, { status, field: "clients" });
}

/** The methods that need nothing but the answer, in the order in which they are asked for. */
const registered: readonly AuthMethod[] = ["none", "client_secret_basic", "client_secret_post"];

function methodToRegister(
  {
    token_endpoint_auth_methods_supported: supported = ["client_secret_basic"],
  }: AuthorizationServer,
  name: RequestName,
): AuthMethod {
  const method = registered.find((each) => supported.includes(each));
  if (method !== undefined) return method;
  const why = `the authorization server takes none of ${registered.join(", ")}. Register a client by hand, and give it in \`clients\`.`;
  throw requestError(name, why, { field: "clients" });
}

/** A server that names its grant types without refreshes would refuse a registration for them. */
function grantTypes({ grant_types_supported: supported }: AuthorizationServer): string[] {
  const refreshes = supported === undefined || supported.includes("refresh_token");
  return ["authorization_code", ...(refreshes ? ["refresh_token"] : [])];
}

/**
 * The client of an answer, if it is one. The server may have chosen another method than it was asked for.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7591#section-3.2.1
 */
function readClient(
  json: Readonly<Record<string, unknown>> | undefined,
  asked: AuthMethod,
): Client | undefined {
  const clientId = json?.["client_id"];
  if (typeof clientId !== "string" || clientId === "") return undefined;
  const secret = json?.["client_secret"];
  const hasSecret = typeof secret === "string" && secret !== "";
  const authMethod = json?.["token_endpoint_auth_method"] ?? methodFor(asked, hasSecret);
  if (!isAuthMethod(authMethod) || authMethod === "private_key_jwt") return undefined;
  if (authMethod === "none") return { clientId, authMethod };
  if (!hasSecret) return undefined;
  // 0 means never; some servers leave it out.
  const seconds = json?.["client_secret_expires_at"];
  const expires = typeof seconds === "number" && seconds > 0;
  return { clientId, secret, authMethod, ...(expires && { expiresAt: seconds * 1_000 }) };
}

/** The method, where the answer does not name it. */
function methodFor(asked: AuthMethod, hasSecret: boolean): AuthMethod {
  if (!hasSecret) return "none";
  return asked === "none" ? "client_secret_basic" : asked;
}
