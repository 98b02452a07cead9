import type * as oauth from "oauth4webapi";
import { shape, type Shaped } from "@durable-mcp/core/internal";
import { isLoopbackUrl } from "./loopback-url.ts";

/** The URL of an endpoint. A browser or `fetch` takes other schemes too, such as `javascript:` and `data:`. */
const endpoint = shape.when<string>((value) => typeof value === "string" && isUsableUrl(value));
const names = shape.listOf(shape.anyText);
const flag = shape.exactly(true, false);

const fields = {
  issuer: shape.anyText,
  "authorization_endpoint?": endpoint,
  token_endpoint: endpoint,
  "registration_endpoint?": endpoint,
  "revocation_endpoint?": endpoint,
  "dpop_signing_alg_values_supported?": names,
  "scopes_supported?": names,
  "grant_types_supported?": names,
  "authorization_grant_profiles_supported?": names,
  "token_endpoint_auth_methods_supported?": names,
  "code_challenge_methods_supported?": names,
  "authorization_response_iss_parameter_supported?": flag,
  "client_id_metadata_document_supported?": flag,
};
const metadata = shape.openRecordOf(fields);

/**
 * What a sign-in needs of an authorization server's metadata. It is plain JSON, kept with a grant; what it does not
 * name here is left out.
 *
 * @see https://www.rfc-editor.org/rfc/rfc8414#section-2
 */
export interface AuthorizationServer extends Shaped<typeof metadata> {
  /** Kept and compared as it is written, without any normalization. */
  readonly issuer: string;
}

/** The metadata, or the name of the first field that has not the documented shape. */
export function readMetadata(
  document: Readonly<Record<string, unknown>>,
): { readonly server: AuthorizationServer } | { readonly wrongField: string } {
  // Some servers write `null` for what they do not have.
  const named = Object.entries(document).filter(
    ([name, value]) =>
      value !== null && (Object.hasOwn(fields, name) || Object.hasOwn(fields, `${name}?`)),
  );
  const server = Object.fromEntries(named) as Shaped<typeof metadata>;
  const [wrongField] = metadata(server) ?? [];
  if (wrongField !== undefined) return { wrongField };
  const { scopes_supported: scopes, ...others } = server;
  // Whether it has `offline_access` is all that is asked of it, and its list may be long.
  const asked = scopes?.filter((scope) => scope === "offline_access").slice(0, 1);
  return { server: asked === undefined ? others : { ...others, scopes_supported: asked } };
}

/**
 * The endpoints of a server without any metadata, by convention. Revision 2025-03-26 requires PKCE of it.
 *
 * @see https://modelcontextprotocol.io/specification/2025-03-26/basic/authorization#fallbacks-for-servers-without-metadata-discovery
 */
export function serverByConvention(origin: string): AuthorizationServer {
  return {
    issuer: origin,
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: `${origin}/token`,
    registration_endpoint: `${origin}/register`,
    code_challenge_methods_supported: ["S256"],
  };
}

/** Where the requests to a server go, so that a guard can allow it. The browser alone goes to its authorization endpoint. */
export function requestUrlsOf(server: AuthorizationServer): string[] {
  const { issuer, token_endpoint, registration_endpoint, revocation_endpoint } = server;
  const urls = [issuer, token_endpoint, registration_endpoint, revocation_endpoint];
  return urls.filter((url) => url !== undefined);
}

/** The server, as `oauth4webapi` takes it: its types are mutable. */
export function asServer(server: AuthorizationServer): oauth.AuthorizationServer {
  return server as oauth.AuthorizationServer;
}

function isUsableUrl(value: string): boolean {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  // The name of another server before an @ would look like it in the user's browser.
  if (url === undefined || url.username !== "" || url.password !== "") return false;
  return url.protocol === "https:" || isLoopbackUrl(url);
}
