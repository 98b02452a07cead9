import * as oauth from "oauth4webapi";
import { asServer, type AuthorizationServer } from "./authorization-server.ts";
import { type Client, clientOf } from "./client.ts";
import { errorWord, serverWords } from "./server-words.ts";

/** What a callback brought. */
export type CallbackOutcome =
  /** The parameters, for `exchangeCode`, in this process. */
  | { readonly type: "code"; readonly parameters: URLSearchParams }
  /** The server's own words: the user said no, or the server could not go on. */
  | { readonly type: "denied"; readonly error: string; readonly description: string }
  /** Not this server's answer to this sign-in. None of its words may be shown. */
  | { readonly type: "forged"; readonly why: string };

/**
 * Checks the parameters of a callback, before anything of it is used: `iss`, exactly as the issuer is written, and
 * `state`. Each parameter may be there once.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9207#section-2.4
 * @see https://www.rfc-editor.org/rfc/rfc6749#section-4.1.2
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#authorization-response-validation
 */
export function checkCallback({
  server,
  client,
  url,
  state,
}: {
  readonly server: AuthorizationServer;
  readonly client: Client;
  readonly url: URL;
  readonly state: string;
}): CallbackOutcome {
  const { searchParams } = url;
  // An empty `iss` is there as well, and names no issuer. `oauth4webapi` would see it as missing.
  if (searchParams.get("iss") === "") return { type: "forged", why: "its `iss` is empty" };
  if (searchParams.getAll("code").length > 1) {
    return { type: "forged", why: "there are several codes in it" };
  }
  try {
    const parameters = oauth.validateAuthResponse(asServer(server), clientOf(client), url, state);
    if (parameters.get("code")) return { type: "code", parameters };
    return { type: "forged", why: "there is no code in it" };
  } catch (error) {
    if (!(error instanceof oauth.AuthorizationResponseError)) {
      return { type: "forged", why: forgedWords(searchParams, server) };
    }
    const secrets = [state, client.secret];
    return {
      type: "denied",
      error: errorWord(error.error, secrets) ?? "an unknown error",
      description: serverWords(error.error_description, secrets),
    };
  }
}

function forgedWords(parameters: URLSearchParams, server: AuthorizationServer): string {
  const [iss, ...more] = parameters.getAll("iss");
  if (iss === undefined && server.authorization_response_iss_parameter_supported === true) {
    return "it does not name its issuer, and the authorization server says that it would";
  }
  if (iss !== undefined && (more.length > 0 || iss !== server.issuer)) {
    return "it names another issuer than the one where the sign-in began";
  }
  return "its parameters are not those of an answer to this sign-in";
}
