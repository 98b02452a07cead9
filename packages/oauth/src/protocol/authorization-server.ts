import type * as oauth from "oauth4webapi";
import * as z from "zod/mini";
import { isLoopbackUrl } from "./loopback-url.ts";

/** The URL of an endpoint. A browser or `fetch` takes other schemes too, such as `javascript:` and `data:`. */
const endpoint = z.string().check(z.refine(isUsableUrl, "must be an https URL"));
const names = z.array(z.string());
/** Whether it has `offline_access` is all that is asked of it, and its list may be long. */
const askedScopes = (scopes: string[]): string[] =>
  scopes.includes("offline_access") ? ["offline_access"] : [];

const metadata = z.object({
  issuer: z.string(),
  authorization_endpoint: z.optional(endpoint),
  token_endpoint: endpoint,
  registration_endpoint: z.optional(endpoint),
  revocation_endpoint: z.optional(endpoint),
  dpop_signing_alg_values_supported: z.optional(names),
  scopes_supported: z.optional(z.pipe(names, z.transform(askedScopes))),
  grant_types_supported: z.optional(names),
  authorization_grant_profiles_supported: z.optional(names),
  token_endpoint_auth_methods_supported: z.optional(names),
  code_challenge_methods_supported: z.optional(names),
  authorization_response_iss_parameter_supported: z.optional(z.boolean()),
  client_id_metadata_document_supported: z.optional(z.boolean()),
});

/**
 * What a sign-in needs of an authorization server's metadata. It is plain JSON, kept with a grant; what it does not
 * name here is left out.
 *
 * @see https://www.rfc-editor.org/rfc/rfc8414#section-2
 */
export interface AuthorizationServer {
  /** Kept and compared as it is written, without any normalization. */
  readonly issuer: string;
  readonly authorization_endpoint?: string | undefined;
  readonly token_endpoint: string;
  readonly registration_endpoint?: string | undefined;
  readonly revocation_endpoint?: string | undefined;
  readonly dpop_signing_alg_values_supported?: readonly string[] | undefined;
  readonly scopes_supported?: readonly string[] | undefined;
  readonly grant_types_supported?: readonly string[] | undefined;
  readonly authorization_grant_profiles_supported?: readonly string[] | undefined;
  readonly token_endpoint_auth_methods_supported?: readonly string[] | undefined;
  readonly code_challenge_methods_supported?: readonly string[] | undefined;
  readonly authorization_response_iss_parameter_supported?: boolean | undefined;
  readonly client_id_metadata_document_supported?: boolean | undefined;
}

/** The metadata, or the name of the first field that has not the documented shape. */
export function readMetadata(
  document: Readonly<Record<string, unknown>>,
): { readonly server: AuthorizationServer } | { readonly wrongField: string } {
  // Some servers write `null` for what they do not have.
  const named = Object.entries(document).filter(([, value]) => value !== null);
  const { data, error } = metadata.safeParse(Object.fromEntries(named));
  return data === undefined
    ? { wrongField: String(error.issues[0]?.path[0] ?? "issuer") }
    : { server: data };
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
