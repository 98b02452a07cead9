import * as oauth from "oauth4webapi";
import { decodeProtectedHeader } from "jose";
import type { AuthorizationServer } from "./authorization-server.ts";
import type { RequestFailed } from "./server-request.ts";
import {
  askTokenEndpoint,
  requestTokens,
  resourceAndScope,
  type TokenOutcome,
  type TokenRequest,
  wrongAnswer,
} from "./token-request.ts";

const jwtBearer = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const tokenExchange = "urn:ietf:params:oauth:grant-type:token-exchange";
const idJag = "urn:ietf:params:oauth:token-type:id-jag";
const idToken = "urn:ietf:params:oauth:token-type:id_token";
const idJagProfile = "urn:ietf:params:oauth:grant-profile:id-jag";

/** Whether a server takes the ID-JAG of an identity provider, as far as its metadata says. */
export function takesIdJag(server: AuthorizationServer): boolean {
  const profiles = server.authorization_grant_profiles_supported;
  if (profiles !== undefined) return profiles.includes(idJagProfile);
  return server.grant_types_supported?.includes(jwtBearer) === true;
}

/**
 * Asks for tokens by a signed assertion: one request, whatever comes of it.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7523#section-2.1
 */
export async function requestByAssertion(
  request: TokenRequest & {
    readonly assertion: string;
    readonly scopes?: readonly string[] | undefined;
  },
): Promise<TokenOutcome> {
  const { assertion } = request;
  return await requestTokens(request, [assertion], (server, client, auth, options) => {
    const parameters = { assertion, ...resourceAndScope(request) };
    return oauth.genericTokenEndpointRequest(server, client, auth, jwtBearer, parameters, options);
  });
}

/** What an identity provider gave for an ID token. */
export type IdJagOutcome =
  | { readonly type: "id-jag"; readonly assertion: string }
  | Extract<TokenOutcome, { type: "refused" }>
  | RequestFailed;

/**
 * Exchanges a user's ID token at the company's identity provider for an assertion to one authorization server.
 *
 * @param request `server` and `client` are the provider's, `audience` the issuer of the MCP server's own
 * @see https://www.rfc-editor.org/rfc/rfc8693#section-2
 * @see https://github.com/modelcontextprotocol/ext-auth/blob/main/specification/stable/enterprise-managed-authorization.mdx
 */
export async function exchangeIdToken(
  request: TokenRequest & {
    readonly idToken: string;
    readonly audience: string;
    readonly scopes?: readonly string[] | undefined;
  },
): Promise<IdJagOutcome> {
  const { idToken: token, audience } = request;
  const parameters = {
    requested_token_type: idJag,
    subject_token: token,
    subject_token_type: idToken,
    audience,
    ...resourceAndScope(request),
  };
  const answer = await askTokenEndpoint(request, [token], (server, client, auth, options) =>
    oauth.genericTokenEndpointRequest(server, client, auth, tokenExchange, parameters, options),
  );
  if (answer.type !== "answer") return answer;
  const { issued_token_type: type, access_token: assertion } = answer.json ?? {};
  if (type === idJag && typeof assertion === "string" && isIdJag(assertion)) {
    return { type: "id-jag", assertion };
  }
  return wrongAnswer(request, answer, "the answer to the ID token is no ID-JAG");
}

/** Its signature and its claims are for the server that it is meant for. */
function isIdJag(assertion: string): boolean {
  try {
    return decodeProtectedHeader(assertion).typ === "oauth-id-jag+jwt";
  } catch {
    return false;
  }
}
