import { McpSessionError, type Principal, type SessionStore } from "@durable-mcp/core";
import { checkedClock, guarded, type TokenProof } from "@durable-mcp/core/internal";
import { encryptValues, type SealingKeys } from "@durable-mcp/core/sealing";
import type { OAuthEvent } from "./base/oauth-event.ts";
import type { RefusedToken } from "./base/refused-token.ts";
import { connectTo, type ConnectUse, type OAuthConnection } from "./connect.ts";
import { checkOwner, mayOwnTokens } from "./base/token-owner.ts";
import type { ResourceUse } from "./grants/authorization-required.ts";
import { signInUrlOf } from "./grants/authorization-required.ts";
import { isLoggedIn } from "./grants/enterprise-tokens.ts";
import { getToken } from "./grants/get-token.ts";
import { type Grant, listGrants } from "./grants/list-grants.ts";
import type { OAuthContext } from "./grants/oauth-context.ts";
import { deleteAll, type SignedOut, signOut } from "./grants/sign-out.ts";
import { createGuardedFetch } from "./guard/guarded-fetch.ts";
import { checkOAuthOptions, type OAuthOptions, unencrypted } from "./oauth-options.ts";
import { createRecords } from "./records/records.ts";
import { createNonces } from "./grants/nonces.ts";
import { boundToken, proofOf } from "./grants/token-binding.ts";
import { resourceIdOf } from "./records/resource-id.ts";
import { createClients } from "./sign-in/clients.ts";
import { createRoutes, type StartUse } from "./sign-in/routes.ts";
import { createConsoleTeller } from "./tell-on-console.ts";

/** A connection that asks for its token. `auth` of a connection passes it. */
export interface OAuthTokenContext {
  readonly principal: Principal | undefined;
  readonly connection: string;
  /** The URL of the MCP server. */
  readonly url: string;
  readonly sessionId?: string | undefined;
  /** The caller sends the proofs of `dpop`. Without it, a token that is bound to a key is refused. */
  readonly takesDpop?: true | undefined;
  /** Set after a server has refused a request. */
  readonly refused?: RefusedToken | undefined;
  readonly abortSignal?: AbortSignal | undefined;
}

/** The sign-in that a connection waits for. */
export interface AwaitedAuthorization {
  /** The scopes that the user has to grant, as far as they are known. */
  readonly scopes: readonly string[];
  /** The application's page where the sign-in begins. Nothing in it is secret, and it does not expire. */
  readonly startUrl: string;
  /** When the server asked first, in milliseconds since 1970-01-01 UTC. */
  readonly askedAt: number;
}

/**
 * Sign-in to MCP servers, for all principals of an application: the `auth` of connections. A sign-in needs a user or
 * the app (`PRINCIPAL_REQUIRED`). All methods may reject with `STORE_FAILED`.
 */
export interface OAuth {
  /**
   * The access token of a principal, refreshed if need be; `undefined` as long as no server has asked for one.
   *
   * @throws {McpSessionError} `AUTHORIZATION_REQUIRED`: the user has to sign in. `CONNECTION_UNAVAILABLE`: no
   *   token came in time, or the authorization server could not refresh it. `CONNECTION_INVALID`: the token is bound
   *   to a key, and the caller sends no proofs
   */
  getToken(
    context: OAuthTokenContext,
  ): Promise<
    { readonly token: string; readonly expiresAt?: number; readonly dpop?: TokenProof } | undefined
  >;
  /** The sign-in that a connection waits for; `undefined` if it waits for none. One read of the store. */
  authorizationFor(use: {
    readonly principal: Principal | undefined;
    readonly connection: string;
    readonly url: string;
    /** The agent session in which the link is shown: it goes on after the sign-in. */
    readonly sessionId?: string | undefined;
  }): Promise<AwaitedAuthorization | undefined>;
  /**
   * Both routes: `startUrl` sends the user's browser to the authorization server; `redirectUrl` ends the sign-in, for the
   * user who began it. Any other path gets 404, with the event `unknown-path`.
   *
   * @param use.principal whose browser it is, from the application's own login
   * @param use.connection with `url`: the server to sign in to, if it has not asked yet; by default as the link says
   * @see https://www.rfc-editor.org/rfc/rfc9207
   */
  handler(request: Request, use: StartUse): Promise<Response>;
  /** The route of `startUrl` alone. */
  start(request: Request, use: StartUse): Promise<Response>;
  /** The route of `redirectUrl` alone. */
  callback(request: Request, use: { readonly principal: Principal }): Promise<Response>;
  /**
   * Forgets the tokens of a principal at a connection, and revokes them (RFC 7009). A refresh under way does not
   * bring them back.
   *
   * @param use.url the MCP server, whatever the connection was called at the sign-in; by default all of that name
   */
  signOut(use: {
    readonly principal: Principal;
    readonly connection: string;
    readonly url?: string | URL | undefined;
  }): Promise<SignedOut[]>;
  /** The principal's sign-ins, without tokens. */
  list(use: { readonly principal: Principal }): Promise<Grant[]>;
  /** Signs out everywhere: for the end of an account. */
  deleteAll(use: { readonly principal: Principal }): Promise<SignedOut[]>;
  /** Signs in any MCP client that takes a `fetch`, without a connection of `@durable-mcp/ai-sdk`. */
  connect(use: ConnectUse): OAuthConnection;
}

/**
 * Creates the sign-in to MCP servers that need OAuth. The store keeps tokens for each principal and server, and one
 * process refreshes them for all.
 *
 * @example
 * const oauth = createOAuth({ store, keys, redirectUrl: "https://app.example/oauth/callback" });
 * const linear = defineMcpClientConnection({ url, description, session: "stateful", auth: oauth });
 * // GET /oauth/start and GET /oauth/callback
 * export const GET = (request: Request) => oauth.handler(request, { principal: principalOf(request) });
 *
 * @throws {McpSessionError} `CONNECTION_INVALID`, naming the option
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization
 */
export function createOAuth(options: OAuthOptions): OAuth {
  checkOAuthOptions(options);
  const context = createContext(options);
  const redirectUrl = new URL(options.redirectUrl);
  const { onSignedIn } = options;
  return Object.freeze({
    async getToken({ refused, takesDpop, abortSignal: signal, ...asked }: OAuthTokenContext) {
      // Who is nobody may use a server that asks for no sign-in.
      if (!mayOwnTokens(asked.principal) && refused === undefined) return undefined;
      const use = await useOf(asked);
      const tokens = await getToken(context, { ...use, refused, signal });
      if (tokens === undefined) return undefined;
      const { accessToken: token, expiresAt } = tokens;
      const dpop = proofOf(context, use, tokens);
      if (dpop && !takesDpop) throw boundToken(asked.connection);
      return { token, ...(expiresAt !== undefined && { expiresAt }), ...(dpop && { dpop }) };
    },
    async authorizationFor(asked) {
      if (!mayOwnTokens(asked.principal)) return undefined;
      const use = await useOf(asked);
      const { record } = await context.records.grant(use.principal, use.resourceId);
      if (record?.needed === undefined) return undefined;
      const { scopes, askedAt } = record.needed;
      if (await isLoggedIn(context, use, record.needed)) return undefined;
      return { scopes, startUrl: await signInUrlOf(context, use, record), askedAt };
    },
    ...createRoutes(context, { redirectUrl, onSignedIn }),
    async signOut({ principal, connection, url }) {
      checkOwner(principal);
      const { href } = url === undefined ? {} : new URL(url);
      return await signOut(context, principal, (grant) =>
        href === undefined ? grant.connection === connection : grant.url === href,
      );
    },
    async list({ principal }) {
      checkOwner(principal);
      return await listGrants(context, principal);
    },
    async deleteAll({ principal }) {
      checkOwner(principal);
      return await deleteAll(context, principal);
    },
    connect: (use) => connectTo(context, use),
  } satisfies OAuth);
}

/** @throws {McpSessionError} `PRINCIPAL_REQUIRED`, `CONNECTION_INVALID` */
async function useOf(asked: {
  readonly principal: Principal | undefined;
  readonly connection: string;
  readonly url: string | URL;
  readonly sessionId?: string | undefined;
}): Promise<ResourceUse> {
  const { principal, connection, sessionId } = asked;
  checkOwner(principal);
  const url = new URL(asked.url);
  const resourceId = await resourceIdOf(url);
  return { principal, connection, url, resourceId, sessionId };
}

function createContext(options: OAuthOptions): OAuthContext {
  const { startUrl, clientMetadataUrl, clients = [], clientName } = options;
  const { allowIssuers, allowPrivateAddresses, fetch, onEvent, timeoutMs = 10_000 } = options;
  const now = checkedClock(options.now);
  const redirectUrl = new URL(options.redirectUrl);
  const emit: (event: OAuthEvent) => void = onEvent ? guarded(onEvent) : createConsoleTeller();
  const onUnreadable = (reason: string) => emit({ type: "unreadable", reason });
  const records = createRecords(sealedStore(options, onUnreadable));
  return {
    records,
    startUrl: new URL(startUrl ?? "start", redirectUrl),
    guard: (resource) => createGuardedFetch({ resource, fetch, allowPrivateAddresses, timeoutMs }),
    mayUse: allowedIssuers(allowIssuers),
    clients: createClients({
      ...{ records, redirectUrl, given: clients, clientName, emit, now, timeoutMs },
      clientMetadataUrl: clientMetadataUrl === undefined ? undefined : new URL(clientMetadataUrl),
    }),
    enterprise: options.enterprise && {
      ...options.enterprise,
      loginUrl: new URL(options.enterprise.loginUrl ?? "/", redirectUrl),
    },
    workload: options.workload,
    dpop: options.dpop ?? "when-supported",
    nonces: createNonces(records, now),
    ...{ emit, timeoutMs, now },
  };
}

function sealedStore(
  { store, keys }: OAuthOptions,
  onUnreadable: (reason: string) => void,
): () => SessionStore {
  if (keys === unencrypted) return () => store;
  const seal = (given: SealingKeys) => encryptValues(store, { keys: given, onUnreadable });
  let sealed = typeof keys === "function" ? undefined : seal(keys);
  return () => (sealed ??= seal((keys as () => SealingKeys)()));
}

function allowedIssuers(allowed: OAuthOptions["allowIssuers"]): OAuthContext["mayUse"] {
  if (allowed === undefined) return () => true;
  if (typeof allowed === "function") {
    return (issuer, use) => {
      try {
        const answer: unknown = allowed(issuer, use);
        // A promise is no yes.
        return answer === true;
      } catch (cause) {
        throw notAllowing(cause);
      }
    };
  }
  const issuers = new Set(allowed.map((issuer) => new URL(issuer).href));
  return (issuer) => issuers.has(issuer.href);
}

/** It was given nothing secret, so its words may be shown. */
function notAllowing(cause: unknown): McpSessionError {
  const why = cause instanceof Error ? cause.message : "it threw no error";
  return new McpSessionError(
    "CONNECTION_INVALID",
    `allowIssuers failed: ${why}. Nothing was sent.`,
    {
      data: { field: "allowIssuers" },
      cause,
    },
  );
}
