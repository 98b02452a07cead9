import { McpSessionError } from "@durable-mcp/core";
import * as oauth from "oauth4webapi";
import type { AuthorizationServer } from "./authorization-server.ts";

/** The ways of client authentication that this package knows. */
const authMethods = [
  "none",
  "client_secret_basic",
  "client_secret_post",
  "private_key_jwt",
] as const;

/** @see https://www.iana.org/assignments/oauth-parameters/oauth-parameters.xhtml#token-endpoint-auth-method */
export type AuthMethod = (typeof authMethods)[number];

/** A client registration at one authorization server. */
export interface Client {
  readonly clientId: string;
  readonly secret?: string | undefined;
  /** For `private_key_jwt`. A `CryptoKey` has "sign" among its usages. */
  readonly privateKey?: oauth.JWK | oauth.CryptoKey | undefined;
  readonly keyId?: string | undefined;
  readonly authMethod: AuthMethod;
  /** Further parameters of its authorization requests. They replace no other but `prompt`. */
  readonly authorizationParameters?: Readonly<Record<string, string>> | undefined;
  /** When the secret expires, in milliseconds since 1970. */
  readonly expiresAt?: number | undefined;
}

export function isAuthMethod(value: unknown): value is AuthMethod {
  return authMethods.some((method) => method === value);
}

/**
 * The way in which a client with these credentials proves itself to a server. A server that names none has
 * `client_secret_basic`.
 *
 * @throws {McpSessionError} `CONNECTION_INVALID` if the server takes none of them
 * @see https://www.rfc-editor.org/rfc/rfc8414#section-2
 */
export function chooseAuthMethod(
  server: AuthorizationServer,
  {
    secret,
    privateKey,
    wanted,
  }: {
    readonly secret?: string | undefined;
    readonly privateKey?: oauth.JWK | oauth.CryptoKey | undefined;
    readonly wanted?: AuthMethod | undefined;
  },
): AuthMethod {
  if (wanted !== undefined) return wanted;
  // A public client names itself, whatever the list says.
  if (secret === undefined && privateKey === undefined) return "none";
  const possible: AuthMethod[] = [
    ...(privateKey === undefined ? [] : (["private_key_jwt"] as const)),
    ...(secret === undefined ? [] : (["client_secret_basic", "client_secret_post"] as const)),
  ];
  const { token_endpoint_auth_methods_supported: named } = server;
  const supported = named ?? (secret === undefined ? possible : ["client_secret_basic"]);
  const method = possible.find((each) => supported.includes(each));
  if (method !== undefined) return method;
  throw new McpSessionError(
    "CONNECTION_INVALID",
    `The authorization server ${new URL(server.issuer).origin} takes none of ${possible.join(", ")}. Give this client other credentials, or set its tokenEndpointAuthMethod.`,
    { data: { origin: new URL(server.issuer).origin, field: "clients" } },
  );
}

/** The client, as `oauth4webapi` takes it. */
export function clientOf({ clientId }: Client): oauth.Client {
  return { client_id: clientId };
}

/**
 * Puts a client's credentials into a request.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6749#section-2.3
 * @see https://www.rfc-editor.org/rfc/rfc7523#section-2.2
 */
export function authenticate(client: Client): oauth.ClientAuth {
  const { authMethod, secret } = client;
  if (authMethod === "none") return oauth.None();
  if (authMethod === "private_key_jwt") return signedAssertion(client);
  if (secret === undefined) throw missing(`secret for ${authMethod}`);
  return authMethod === "client_secret_post" ? oauth.ClientSecretPost(secret) : basic(secret);
}

/**
 * HTTP Basic. `oauth4webapi` encodes `-`, `_` and `.` as well, which some servers do not decode.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6749#section-2.3.1
 */
function basic(secret: string): oauth.ClientAuth {
  return (_server, { client_id }, _body, headers) => {
    headers.set(
      "authorization",
      `Basic ${btoa(`${formEncoded(client_id)}:${formEncoded(secret)}`)}`,
    );
  };
}

function formEncoded(value: string): string {
  return new URLSearchParams({ "": value }).toString().slice("=".length);
}

/** The audience of the assertion is the issuer alone: a token endpoint of another server could use it otherwise. */
function signedAssertion({ privateKey, keyId }: Client): oauth.ClientAuth {
  if (privateKey === undefined) throw missing("private key for private_key_jwt");
  return async (server, client, body, headers) => {
    const isKey = privateKey instanceof CryptoKey;
    const key = isKey ? privateKey : await importKey(privateKey);
    const kid = keyId ?? (isKey ? undefined : keyIdOf(privateKey));
    const sign = oauth.PrivateKeyJwt(kid === undefined ? key : { key, kid });
    await sign(server, client, body, headers);
  };
}

/** @see https://www.rfc-editor.org/rfc/rfc7517#section-4.5 */
function keyIdOf(key: oauth.JWK): string | undefined {
  return "kid" in key && typeof key.kid === "string" ? key.kid : undefined;
}

async function importKey(key: oauth.JWK): Promise<oauth.CryptoKey> {
  const forSigning = { ...key, key_ops: ["sign"] };
  try {
    return await crypto.subtle.importKey("jwk", forSigning, signingAlgorithm(key), false, ["sign"]);
  } catch {
    // The runtime's error could repeat parts of the key.
    throw missing("usable private key (a JWK) for private_key_jwt");
  }
}

/** @see https://www.rfc-editor.org/rfc/rfc7518#section-3.1 */
function signingAlgorithm({ kty, crv, alg }: oauth.JWK) {
  if (kty === "EC") return { name: "ECDSA", namedCurve: crv ?? "" };
  if (kty === "OKP") return { name: "Ed25519" };
  const [, kind, bits] = /^([PR])S(256|384|512)$/.exec(alg ?? "RS256") ?? [];
  const name = kind === "P" ? "RSA-PSS" : "RSASSA-PKCS1-v1_5";
  return { name, hash: `SHA-${bits ?? "256"}` };
}

function missing(what: string): McpSessionError {
  return new McpSessionError(
    "CONNECTION_INVALID",
    `The registered client has no ${what}. Complete it in \`clients\`.`,
    { data: { field: "clients" } },
  );
}
