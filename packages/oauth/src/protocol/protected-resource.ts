import { shape, type Shaped } from "@durable-mcp/core/internal";
import { takesProofs } from "./dpop-proof.ts";
import { readDocument } from "./read-document.ts";
import { readScopes } from "./scopes.ts";
import { requestError, type Sending } from "./server-request.ts";

/** What the metadata of an MCP server says. */
export interface ProtectedResource {
  /** The identifier, as the server writes it. */
  readonly resource: string;
  readonly issuers: readonly string[];
  readonly scopes?: readonly string[] | undefined;
  /** Whether it takes tokens that are bound to a key. */
  readonly takesProofs: boolean;
}

const metadata = shape.openRecordOf({
  resource: shape.anyText,
  authorization_servers: shape.listOf(shape.anyText),
  "scopes_supported?": shape.listOf(shape.anyText),
  "dpop_signing_alg_values_supported?": shape.listOf(shape.anyText),
  "dpop_bound_access_tokens_required?": shape.exactly(true, false),
});

/**
 * The metadata of an MCP server: where the challenge says, otherwise at the well-known place for its path, otherwise
 * for its origin. `undefined` if there is none.
 *
 * @throws {McpSessionError} `CONNECTION_UNAVAILABLE` if the metadata is wrong, or is for another server
 * @see https://www.rfc-editor.org/rfc/rfc9728#section-3
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization/authorization-server-discovery#protected-resource-metadata-discovery-requirements
 */
export async function findProtectedResource(
  url: URL,
  challenged: string | undefined,
  sending: Sending,
): Promise<ProtectedResource | undefined> {
  const places = challenged === undefined ? wellKnownUrls(url) : [namedUrl(challenged, url)];
  for (const place of places) {
    const document = await readDocument(place, sending);
    if (document !== undefined) return readMetadata(document, place, url);
  }
  if (challenged === undefined) return undefined;
  const why =
    "the challenge names this as its metadata, and there is none. The server has to be fixed.";
  throw requestError({ method: "GET", url: places[0]! }, why, { reason: "other" });
}

/** @see https://www.rfc-editor.org/rfc/rfc9728#section-5.1 */
function namedUrl(challenged: string, url: URL): URL {
  if (URL.canParse(challenged)) return new URL(challenged);
  const why =
    "its challenge names a `resource_metadata` that is no URL. The server has to be fixed.";
  throw requestError({ method: "GET", url }, why, { reason: "other" });
}

function wellKnownUrls({ origin, pathname, search }: URL): URL[] {
  const root = `${origin}/.well-known/oauth-protected-resource`;
  const path = (pathname === "/" ? "" : pathname) + search;
  return [...new Set([root + path, root])].map((each) => new URL(each));
}

function readMetadata(
  document: Readonly<Record<string, unknown>>,
  place: URL,
  url: URL,
): ProtectedResource {
  const name = { method: "GET", url: place } as const;
  const named = Object.entries(document).filter(([, value]) => value !== null);
  const data = Object.fromEntries(named) as Shaped<typeof metadata>;
  const [field] = metadata(data) ?? [];
  if (field !== undefined) {
    const why = `the metadata's \`${field}\` is missing or wrong. The server has to be fixed.`;
    throw requestError(name, why, { reason: "other" });
  }
  const { resource, authorization_servers: issuers, scopes_supported: scopes } = data;
  const isBound = data.dpop_bound_access_tokens_required === true || takesProofs(data);
  if (isResourceOf(resource, url))
    return { resource, issuers, scopes: scopes && readScopes(scopes), takesProofs: isBound };
  const why =
    "the metadata's `resource` is not the MCP server's URL, nor a part of it from its start. It is for another server, and is not used.";
  throw requestError(name, why, { reason: "other" });
}

/**
 * Whether a resource identifier is for a URL: of the same origin, and its path is the URL's or the first segments of
 * it.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9728#section-3.3
 */
function isResourceOf(resource: string, url: URL): boolean {
  const named = URL.canParse(resource) ? new URL(resource) : undefined;
  if (named === undefined || named.origin !== url.origin || resource.includes("#")) return false;
  if (named.username !== "" || named.password !== "") return false;
  if (named.search !== "" && named.search !== url.search) return false;
  const path = named.pathname.replace(/\/$/, "");
  return url.pathname === path || url.pathname.startsWith(`${path}/`);
}
