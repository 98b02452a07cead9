import type { McpSessionError } from "@durable-mcp/core";
import type { Guard } from "../guard/guarded-fetch.ts";
import {
  type AuthorizationServer,
  readMetadata,
  requestUrlsOf,
  serverByConvention,
} from "./authorization-server.ts";
import { findProtectedResource, type ProtectedResource } from "./protected-resource.ts";
import { readDocument } from "./read-document.ts";
import { requestError, type Sending } from "./server-request.ts";

export interface Discovery {
  /** The MCP server's URL. */
  readonly url: URL;
  /** The URL of its metadata, if a challenge named it. */
  readonly resourceMetadata?: string | undefined;
  /** What it finds is allowed in it. */
  readonly guard: Guard;
  /** Whether the application trusts an issuer. */
  readonly mayUse: (issuer: URL) => boolean;
  readonly signal?: AbortSignal | undefined;
}

/** Where the users of an MCP server sign in. */
export interface Discovered {
  readonly server: AuthorizationServer;
  /** The MCP server's identifier, for `resource` in each request (RFC 8707). */
  readonly resource: string;
  readonly scopesSupported?: readonly string[] | undefined;
  /** Whether the MCP server says that it takes tokens that are bound to a key. */
  readonly takesProofs?: boolean | undefined;
  /** Whether no metadata was found: the endpoints are where revision 2025-03-26 has them, if there are any. */
  readonly isAssumed?: boolean | undefined;
}

/**
 * Finds the authorization server of an MCP server: by the metadata of the protected resource, whose first issuer that
 * `mayUse` allows is taken; without that metadata on the MCP server's own origin, as in revision 2025-03-26. Sends
 * nothing to an issuer that may not be used.
 *
 * @throws {McpSessionError} `CONNECTION_UNAVAILABLE` if there is none, or what names it is wrong;
 *   `CONNECTION_UNAVAILABLE` from the guard
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization/authorization-server-discovery
 */
export async function discover({
  url,
  resourceMetadata,
  guard,
  mayUse,
  signal,
}: Discovery): Promise<Discovered> {
  const sending = { fetch: guard.fetch, signal };
  const found = await findProtectedResource(url, resourceMetadata, sending);
  const issuer = chooseIssuer(found?.issuers ?? [url.origin], url, mayUse);
  guard.allow(issuer);
  const named = await findServer(issuer, found, sending);
  const server = named ?? (found === undefined ? serverByConvention(url.origin) : undefined);
  if (server === undefined) {
    const name = { method: "GET", url: wellKnownUrls(new URL(issuer))[0]! } as const;
    throw requestError(
      name,
      "the authorization server has no metadata there, nor for OpenID Connect.",
    );
  }
  for (const each of requestUrlsOf(server)) guard.allow(each);
  return {
    server,
    resource: found?.resource ?? canonicalUri(url),
    ...{ scopesSupported: found?.scopes, takesProofs: found?.takesProofs },
    ...(named === undefined && { isAssumed: true }),
  };
}

/**
 * The first issuer that may be used, as it is written.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9728#section-7.6
 */
function chooseIssuer(
  issuers: readonly string[],
  url: URL,
  mayUse: (issuer: URL) => boolean,
): string {
  const usable = issuers.filter(isIssuer);
  const chosen = usable.find((issuer) => mayUse(new URL(issuer)));
  if (chosen !== undefined) return chosen;
  const names = [...new Set(usable.map((issuer) => new URL(issuer).origin))].slice(0, 5);
  const why =
    names.length === 0
      ? "its metadata names no authorization server. The server has to be fixed."
      : `none of its authorization servers may be used (${names.join(", ")}). Add one to allowIssuers if you trust it.`;
  throw requestError({ method: "GET", url }, why, { reason: "other" });
}

/** @see https://www.rfc-editor.org/rfc/rfc8414#section-2 */
function isIssuer(value: string): boolean {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  const isHttp = url?.protocol === "https:" || url?.protocol === "http:";
  return isHttp && url.username === "" && url.password === "" && !/[?#]/.test(value);
}

/** The authorization server with this issuer, by its metadata; `undefined` without any. */
export async function findServer(
  issuer: string,
  found: Pick<ProtectedResource, "issuers"> | undefined,
  sending: Sending,
): Promise<AuthorizationServer | undefined> {
  for (const url of wellKnownUrls(new URL(issuer))) {
    const document = await readDocument(url, sending);
    if (document === undefined) continue;
    const metadata = readMetadata(document);
    if ("wrongField" in metadata) {
      const why = `the metadata's \`${metadata.wrongField}\` is missing or wrong. The server has to be fixed.`;
      throw requestError({ method: "GET", url }, why, { reason: "other" });
    }
    // Nobody gave an identifier without the resource's metadata, so the origin with a slash will do.
    const isOwn = found === undefined && metadata.server.issuer === `${issuer}/`;
    if (metadata.server.issuer === issuer || isOwn) return metadata.server;
    throw wrongIssuer(url);
  }
  return undefined;
}

/** @see https://www.rfc-editor.org/rfc/rfc8414#section-3.3 */
function wrongIssuer(url: URL): McpSessionError {
  const why =
    "the metadata's `issuer` is not, letter by letter, the issuer that the MCP server names, so it is not used. One of the two servers has to be fixed.";
  return requestError({ method: "GET", url }, why, { reason: "other" });
}

/**
 * Where the metadata of an issuer may be, in the order of the specification.
 *
 * @see https://www.rfc-editor.org/rfc/rfc8414#section-3.1
 * @see https://openid.net/specs/openid-connect-discovery-1_0.html#ProviderConfigurationRequest
 */
function wellKnownUrls({ origin, pathname }: URL): URL[] {
  const path = pathname.replace(/\/$/, "");
  const paths = [
    `/.well-known/oauth-authorization-server${path}`,
    `/.well-known/openid-configuration${path}`,
    ...(path === "" ? [] : [`${path}/.well-known/openid-configuration`]),
  ];
  return paths.map((each) => new URL(origin + each));
}

/**
 * Without a query: a key of the application in it would be in the user's browser.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#canonical-server-uri
 * @see https://www.rfc-editor.org/rfc/rfc8707#section-2
 */
function canonicalUri({ origin, pathname }: URL): string {
  return origin + (pathname === "/" ? "" : pathname);
}
